import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  type ModelUsage,
  type ModelUsageToRead,
  modelUsageQuerySchema,
  modelUsageToRead,
  presentModelUsage,
  readModelUsage,
  settleCalls,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";
import type { TimedReads } from "../batching/timed-reads.js";
import { costSchema, modelSumsSchema } from "./model-sums.schema.js";

const modelUsageSchema = named(
  "ModelUsage",
  z.object({
    from: timestamp,
    to: timestamp,
    models: z.array(modelSumsSchema).describe("At most 1,000, those with most tokens first"),
    series: z
      .array(
        z.object({
          day: z.string().meta({ format: "date" }),
          input_tokens: z.number(),
          output_tokens: z.number(),
          cost_usd: costSchema,
        }),
      )
      .describe("The UTC days with model calls"),
  }),
);

/** Reading may settle calls first: most of the pool's connections stay free for writes. */
const limits = { maxInFlight: 2, maxInFlightPerOwner: 1, maxWaitingRows: 200, maxRows: 1 } as const;

/** `GET /usage/models`: tokens and cost by model and by day. */
export function readModelUsageRoute({ pool, createGroupCommit, now }: TimedReads) {
  const read = createGroupCommit<ModelUsageToRead, ModelUsage>({
    name: "read-model-usage",
    run: (queries) =>
      Promise.all(
        queries.map(async (query) => {
          await settleCalls(pool, query.accountId);
          return readModelUsage(pool, query);
        }),
      ),
    ...limits,
  });
  return route({
    method: "get",
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
      const asked = modelUsageToRead(principalOf(response).accountId, query, now());
      const body = presentModelUsage(asked, await read(asked));
      return { status: 200, body: body satisfies z.output<typeof modelUsageSchema> };
    },
  });
}
