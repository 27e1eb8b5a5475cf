import { isIP } from "node:net";
import { textProblem, timestampField } from "@waymark/service/fields";
import { z } from "zod";
import { pageUrl, referrer } from "../event/fields.schema.js";
import { userAgentMaxLength } from "../event/read-client.js";

export const maxRequests = 1_000;

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

const served = z
  .object({
    url: pageUrl.describe("The whole address, http or https; its host names the site"),
    status: z.int().min(100).max(599).nullable().describe("Of the answer; null where nobody knows"),
    method: z.string().min(1).max(32).optional().describe("Any counts"),
    ip: ip.describe("The client's address, which verifies a machine; never stored"),
    user_agent: plain(userAgent).describe("The client's `User-Agent`, which names a machine; never stored"),
    referrer: plain(referrer),
    at: at.describe(`When the request came, within the last ${maxDaysAgo} days`),
  })
  .transform(({ user_agent: userAgent, status, method: _method, ...request }) => ({
    ...request,
    status: status ?? 0,
    userAgent,
  }));

export const requestsBody = z.object({
  domain: z
    .string()
    .min(1)
    .max(253)
    .transform((text) => text.trim().toLowerCase())
    .optional()
    .describe("The site's domain; the host of each `url` if left out"),
  requests: z.array(served).min(1).max(maxRequests),
});
