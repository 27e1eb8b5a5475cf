import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  daySumsSchema,
  fewWaiting,
  modelSumsSchema,
  modelUsageQuerySchema,
  modelUsageToRead,
  oneByOne,
  readModelUsage,
  type TimedBatching,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";

const modelUsageSchema = named(
  "ModelUsage",
  z.object({
    from: timestamp,
    to: timestamp,
    models: z.array(modelSumsSchema).describe("At most 1,000, those with most tokens first"),
    series: z.array(daySumsSchema).describe("The UTC days with model calls"),
  }),
);

/** `GET /usage/models`: tokens and cost by model and by day. */
export function readModelUsageRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "read-model-usage", readModelUsage, fewWaiting);
  return route({
    method: "get",
    scope: "read",
    path: "/usage/models",
    operationId: "readModelUsage",
    summary: "Read tokens and cost by model and by day",
    description:
      "Sums whole UTC days of the spans' starts, from the day of `from` to that of `to`; the answer has both. A span that only repeats the tokens of spans below it does not count. The sums are kept for 13 months, past the retention of traces.",
    query: modelUsageQuerySchema,
    answers: {
      200: {
        description: "The sums",
        schema: modelUsageSchema,
        example: {
          from: "2026-01-01T00:00:00.000Z",
          to: "2026-02-01T00:00:00.000Z",
          models: [
            {
              provider: "openai",
              model: "gpt-4o-2024-08-06",
              calls: 2,
              input_tokens: 2_084,
              output_tokens: 160,
              cached_input_tokens: 1_024,
              cost_usd: "0.00553",
            },
          ],
          series: [{ day: "2026-01-31", input_tokens: 2_084, output_tokens: 160, cost_usd: "0.00553" }],
        },
      },
    },
    async handle({ query, response }) {
      return { status: 200, body: await read(modelUsageToRead(principalOf(response).accountId, query, deps.now())) };
    },
  });
}
