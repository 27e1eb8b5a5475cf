import { isIP } from "node:net";
import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { textProblem, timestampField } from "@waymark/service/fields";
import { type DocumentedAnswer, errorSchema, route, validationErrorSchema } from "@waymark/service/http";
import type { RequestRecorder } from "@waymark/web-stats/analytics";
import { z } from "zod";
import { pageUrl, referrer } from "../event/fields.schema.js";
import { userAgentMaxLength } from "../event/read-client.js";
import type { EventLimits } from "../limits/event-limits.js";

const maxRequests = 1_000;

/** An edge may have been cut off for a while; a wrong clock must not make days without end. */
const dayMs = 86_400_000;
const [maxDaysAgo, maxDaysAhead] = [366, 1];

const ip = z
  .string()
  .nullish()
  .transform((text) => text?.replace(/^::ffff:(?=\d+\.)/i, "") || null)
  .refine((text) => text === null || isIP(text) !== 0, "Must be an IPv4 or IPv6 address");

const userAgent = z
  .string()
  .nullish()
  .transform((text) => text?.slice(0, userAgentMaxLength).toWellFormed() || null);

const at = timestampField().refine((text) => {
  const ahead = (Date.parse(text) - Date.now()) / dayMs;
  return ahead <= maxDaysAhead && ahead >= -maxDaysAgo;
}, `Must lie within the last ${maxDaysAgo} days`);

/** A text without NUL. */
const plain = <Schema extends z.ZodType<string | null>>(schema: Schema) =>
  schema.superRefine((text, context) => {
    const problem = text === null ? undefined : textProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

const maxSignatureLength = 1_000;

/** A longer one counts as none. */
const signatureHeader = z
  .string()
  .nullish()
  .transform((text) => (text && text.length <= maxSignatureLength ? text : null));

const served = z
  .object({
    url: pageUrl.describe("The whole address, http or https; its host names the site"),
    status: z.int().min(100).max(599).nullable().describe("Of the answer; null where nobody knows"),
    method: z.string().min(1).max(32).optional().describe("Any counts; a signature may cover it"),
    ip: ip.describe("The client's address, which verifies a machine; never stored"),
    user_agent: plain(userAgent).describe("The client's `User-Agent`, which names a machine; never stored"),
    referrer: plain(referrer),
    signature: signatureHeader.describe("The client's `Signature`, which verifies an agent; never stored"),
    signature_input: signatureHeader.describe("Its `Signature-Input`"),
    signature_agent: signatureHeader.describe("Its `Signature-Agent`"),
    at: at.describe(`When the request came, within the last ${maxDaysAgo} days`),
  })
  .transform(({ url, status, method, ip, user_agent: userAgent, referrer, at, ...headers }) => {
    const { signature, signature_input: input, signature_agent: agent } = headers;
    const signed = signature && input && agent ? { signature, input, agent } : undefined;
    return { url, status: status ?? 0, method, ip, userAgent, referrer, at, signed };
  });

const requestsBody = z.object({
  domain: z
    .string()
    .min(1)
    .max(253)
    .transform((text) => text.trim().toLowerCase())
    .optional()
    .describe("The site's domain; the host of each `url` if left out"),
  requests: z.array(served).min(1).max(maxRequests),
});

interface CollectRequestsDeps {
  recordRequests: RequestRecorder;
  limits: Pick<EventLimits, "admitRequests">;
  countAccepted(kind: "request", count: number): void;
}

const count = z.number();

const answers: Readonly<Record<number, DocumentedAnswer>> = {
  202: {
    description:
      "The batch is committed: requests of machines counted now, and counted before; those of people and of hosts without a site",
    schema: z.object({ machines: count, duplicates: count, people: count, unknown: count }),
    example: { machines: 1, duplicates: 0, people: 0, unknown: 0 },
  },
  400: {
    description: "Fields are missing or wrong; no request is counted",
    schema: validationErrorSchema(),
    example: { error: "Validation failed", fields: { "requests.3.at": "Required" } },
  },
  401: {
    description: "The key is missing, malformed, unknown, revoked or past its end",
    schema: errorSchema({ hint: z.string(), docs: z.string() }),
    example: { error: "Invalid API key", hint: 'Send the header "Authorization: Bearer wmk_trace_…"', docs: "/docs" },
    headers: ["WWW-Authenticate"],
  },
  403: {
    description: "The key only reads",
    schema: errorSchema(),
    example: {
      error: "This key has the scope 'read'; the request needs a key with the scope 'ingest' or 'all'",
    },
    headers: ["WWW-Authenticate"],
  },
  404: {
    description: "The account has no site for any of the requests",
    schema: errorSchema(),
    example: { error: "Site not found" },
  },
  413: {
    description: "The body is over 1 MiB",
    schema: errorSchema({ limit_bytes: z.number() }),
    example: { error: "Body too large", limit_bytes: 1_048_576 },
  },
  429: {
    description: "The address or the site has had its requests of this second, or too much of the account is in hand",
    schema: errorSchema({ limit: count.optional(), retry_after: count.optional(), reason: z.string().optional() }),
    example: {
      error: "Rate limit exceeded",
      limit: 500,
      retry_after: 1,
      reason: "A site takes 500 requests of machines a second",
    },
    headers: ["Retry-After"],
  },
  503: {
    description: "The database is unreachable, or too much waits, as `reason` then says",
    schema: errorSchema({ reason: z.string().optional() }),
    example: { error: "Service temporarily unavailable" },
    headers: ["Retry-After"],
  },
};

const description = `
Servers and edges send the requests that they answered, up to ${maxRequests}; the collector counts those of machines, by the list of machines, as
\`waymark import\` does. Requests of people count as nothing: the tracker counts people. A right signature of an agent (Web Bot Auth)
makes a request one of that agent, whatever its user agent.

202 means committed. The same request, of the same time, client, address and status, counts once, so a batch may come again; within one
batch identical requests are several. Send times with milliseconds, and a site's requests by one way: here or by \`waymark import\`.

It wants a key of the trace API with the scope \`ingest\` or \`all\`. The key's account must have the site; no proof of its domain is needed.
Keys in \`fields\` have the index of a request, from 0: \`requests.3.url\`.
`;

/** `POST /api/requests`: counts machines' requests that servers tell of. */
export function collectRequestsRoute(deps: CollectRequestsDeps) {
  const { recordRequests, limits, countAccepted } = deps;
  return route({
    method: "post",
    path: "/api/requests",
    scope: "ingest",
    operationId: "collectRequests",
    summary: "Count requests of machines that a server answered",
    description,
    lenientQuery: [],
    body: requestsBody,
    opaqueElements: { list: "requests", keys: [], most: maxRequests },
    bodyExample: {
      requests: [
        {
          url: "https://example.com/pricing",
          status: 200,
          method: "GET",
          ip: "74.7.227.9",
          user_agent: "Mozilla/5.0; compatible; GPTBot/1.2; +https://openai.com/gptbot",
          referrer: null,
          at: "2026-11-27T10:00:00.123Z",
        },
      ],
    },
    answers,
    async handle({ body: { domain, requests }, response }) {
      const { accountId } = principalOf(response);
      const recorded = await recordRequests(accountId, { domain, requests }, limits.admitRequests);
      if (!recorded) throw new AppError("site_not_found");
      countAccepted("request", recorded.machines);
      return { status: 202, body: recorded };
    },
  });
}
