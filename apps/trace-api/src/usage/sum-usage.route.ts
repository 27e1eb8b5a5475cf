import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  fewWaiting,
  maxUsageRows,
  oneByOne,
  sumUsage,
  type TimedBatching,
  timestamp,
  usageByQuerySchema,
  usageRowSchema,
  usageToSum,
} from "@waymark/traces";
import { z } from "zod";

const usageBySchema = named(
  "UsageBy",
  z.object({
    dimension: z.string(),
    from: timestamp,
    to: timestamp,
    rows: z.array(usageRowSchema).describe(`At most ${maxUsageRows.toLocaleString("en")}, the most expensive first`),
  }),
);

/** `GET /usage/by`: traces, failures, tokens and cost by a label, an agent or a model. */
export function sumUsageRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "sum-usage", sumUsage, fewWaiting);
  return route({
    method: "get",
    path: "/usage/by",
    scope: "read",
    operationId: "sumUsage",
    summary: "Sum traces, failures, tokens and cost by a label, an agent or a model",
    description:
      "Counts the traces that started on whole UTC days, as `/usage/models` has them, and sums the model calls of these days. The sums are those of `/usage/models`; only a trace with several tags counts for each of them. A range with more than 250,000 traces or 500,000 calls is refused with 400.",
    query: usageByQuerySchema,
    answers: {
      200: {
        description: "The sums",
        schema: usageBySchema,
        example: {
          dimension: "release",
          from: "2026-01-01T00:00:00.000Z",
          to: "2026-02-01T00:00:00.000Z",
          rows: [
            {
              value: "2.1.0",
              traces: 240,
              failures: 3,
              input_tokens: 254_248,
              output_tokens: 19_520,
              cached_input_tokens: 1_024,
              cost_usd: "0.83082",
            },
          ],
        },
      },
    },
    async handle({ query, response }) {
      const asked = usageToSum(principalOf(response).accountId, query, deps.now());
      return { status: 200, body: await read(asked) };
    },
  });
}
