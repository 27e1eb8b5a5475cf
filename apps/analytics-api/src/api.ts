import {
  type ApiDescription,
  type DocumentedAnswer,
  errorSchema,
  type Route,
  validationErrorSchema,
} from "@waymark/http";
import { otherValue } from "@waymark/lists";
import { statisticsRequestsPerMinute, upgradePath } from "@waymark/plan";
import { z } from "zod";

const description = `
Reads the web analytics of your sites: visitors, page views, where they came from, and custom events. Read-only, for Pro accounts.

Every request below \`/api/v1\` carries \`Authorization: Bearer <API_KEY>\`. A key may make ${statisticsRequestsPerMinute} requests a minute; every
answer says how many are left. All ranges are UTC days.
The operations of the contract ignore query parameters that they do not have. \`/realtime\`, and a request that uses an extension, refuse
them with 400.
What goes beyond the contract is marked as an extension; answers are unchanged where no extension is asked for. Every answer has an \`X-Request-Id\`; name it when you report a problem.

Every error is JSON with an \`error\` string. Beside those listed with each call: 404 for an unknown path, 405 with \`Allow\`,
500 for a fault of ours and 503 with \`Retry-After\` while the database cannot be reached. 429, 500 and 503 are safe to retry.
`;

/** The description of the statistics service for `/openapi.json` and `/docs`. */
export function describeAnalyticsApi(routes: readonly Route[]): ApiDescription {
  return {
    title: "Waymark analytics API",
    version: "1",
    description,
    basePath: "/api/v1",
    keyForm: "wmk_stats_…",
    routes,
  };
}

/** How an answer's lists end; part of the descriptions of statistics and custom events. */
export const otherNote = `Where a day had more values than are kept, the rest stands as \`${otherValue}\` at the end of its list: unranked, beside the \`limit\`. What is listed above it may then lack the days on which it was part of that rest.`;

/** The headers of every authenticated answer. */
export const limitHeaders = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

export const invalidQuery: DocumentedAnswer = {
  description: "A query parameter is not one of those allowed; `fields` has a message for each",
  schema: validationErrorSchema(),
  example: { error: "Validation failed", fields: { range: "Must be one of: today, 7d, 30d" } },
  headers: limitHeaders,
};

/** Of operations that have no query parameters. */
export const unknownParameter: DocumentedAnswer = {
  ...invalidQuery,
  description: "There are no query parameters",
  example: { error: "Validation failed", fields: { range: "Unknown parameter; there are none here" } },
};

export const siteNotFound: DocumentedAnswer = {
  description: "There is no such site, or it belongs to another account",
  schema: errorSchema(),
  example: { error: "Site not found" },
  headers: limitHeaders,
};

/** The answers that every route may give. */
export const commonAnswers = {
  401: {
    description: "The key is missing, malformed, unknown or revoked",
    schema: errorSchema(),
    example: { error: "Invalid API key" },
    headers: ["WWW-Authenticate"],
  },
  403: {
    description: "The account is a Free account",
    schema: errorSchema({ upgrade_url: z.string() }),
    example: { error: "The API requires a Pro plan. Upgrade to Pro to read statistics.", upgrade_url: upgradePath },
    headers: limitHeaders,
  },
  429: {
    description:
      "The key's requests of this minute are used up; or, with `Too much in progress for this account` and a `reason`, too many of the account's reads are under way",
    schema: errorSchema({
      limit: z.number().optional(),
      retry_after: z.number().optional(),
      reason: z.string().optional(),
    }),
    example: { error: "Rate limit exceeded", limit: statisticsRequestsPerMinute, retry_after: 42 },
    headers: [...limitHeaders, "Retry-After"],
  },
} as const satisfies Record<number, DocumentedAnswer>;
