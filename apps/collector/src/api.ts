import type { ApiDescription, Route } from "@waymark/http";

const description = `
Takes in what browsers report: page views and custom events, in the form that Plausible's clients send. It is public and needs no key:
a site is known by its domain. Statistics come from the analytics API.

A page carries one line, \`<script defer src="https://THIS-SERVICE/js/script.js" data-domain="example.com"></script>\`, and reports custom
events by \`waymark('signup', {props: {plan: 'pro'}})\`.

Any origin may post. Every answer has an \`X-Request-Id\`. Every error is JSON with an \`error\` string. Beside those listed with each
call: 404 for an unknown path, 405 with \`Allow\`, 413 for a body over 64 KiB, 429 with \`Retry-After\` above a limit, 500 for a fault of ours and 503 with \`Retry-After\` while
events cannot be written. After 429 and 503 the event may be sent again: no site has it, unless the database went away during the commit.
`;

/** The description of the collector for `/openapi.json` and `/docs`. */
export function describeCollector(routes: readonly Route[]): ApiDescription {
  return { title: "Waymark collector", version: "1", description, basePath: "", routes };
}
