import type { ApiDescription, Route } from "@waymark/service/http";

const description = `
Records page views, custom events and engagement of browsers, in the form of Plausible's clients. It is public and needs no key: a site is known by
its domain. The analytics API has the statistics.

A page carries one line, \`<script defer src="https://THIS-SERVICE/js/script.js" data-domain="example.com"></script>\`, and sends custom
events by \`waymark('signup', {props: {plan: 'pro'}})\`.

Any origin may post. Every answer has an \`X-Request-Id\`. Every error is JSON with an \`error\` string. Every call may also answer 404 for an
unknown path, 405 with \`Allow\`, 413 for a body over 64 KiB, 429 with \`Retry-After\` above a limit, 500 for a fault of ours and 503 with
\`Retry-After\` while events cannot be written. After 429 and 503 you may send the event again: no site has it, unless the database broke
off during the commit.
`;

export function describeCollector(routes: readonly Route[]): ApiDescription {
  return { title: "Waymark collector", version: "1", description, basePath: "", routes };
}
