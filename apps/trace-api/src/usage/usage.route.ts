import { principalOf } from "@waymark/auth";
import { planIds, utcMonth } from "@waymark/plan";
import { named, route } from "@waymark/service/http";
import {
  daySumsSchema,
  fewWaiting,
  getUsage,
  maxUsageRows,
  modelSumsSchema,
  modelUsageQuerySchema,
  modelUsageToRead,
  oneByOne,
  readModelUsage,
  sumUsage,
  type TimedBatching,
  timestamp,
  usageByQuerySchema,
  usageRowSchema,
  usageToSum,
} from "@waymark/traces";
import { z } from "zod";
import type { ByteReserve } from "./byte-reserve.js";
import { keptFields } from "./keep.route.js";

const usageSchema = named(
  "Usage",
  z.object({
    plan: z.enum(planIds),
    month: z.string().describe("The current UTC month"),
    traces: z.object({
      limit: z.number(),
      current: z.number(),
      remaining: z.number(),
      resets_at: timestamp,
    }),
    ...keptFields,
    dropped: z
      .object({ traces: z.number(), since: timestamp })
      .describe("Traces without an agent that the account did not keep: they count nothing"),
    bytes: z
      .object({ limit: z.number(), current: z.number(), remaining: z.number() })
      .describe("Bytes stored in the month; deletion gives none back"),
    agents: z.object({ limit: z.number().nullable().describe("null for no limit"), current: z.number() }),
    retention_days: z.number(),
  }),
);

/** `GET /usage`: the limits of an account's plan, and their use. */
export function getUsageRoute(deps: TimedBatching & { reserve: Pick<ByteReserve, "settle"> }) {
  const readUsage = oneByOne(deps, "get-usage", getUsage);
  return route({
    method: "get",
    scope: "read",
    path: "/usage",
    operationId: "getUsage",
    summary: "Read the plan's limits and their usage",
    answers: {
      200: {
        description: "The plan's limits and their usage",
        schema: usageSchema,
        example: {
          plan: "free",
          month: "2026-01",
          traces: { limit: 1_000, current: 240, remaining: 760, resets_at: "2026-02-01T00:00:00.000Z" },
          keep: "all",
          leave_out: [],
          dropped: { traces: 0, since: "2026-01-01T00:00:00.000Z" },
          bytes: { limit: 256_000_000, current: 12_345_678, remaining: 243_654_322 },
          agents: { limit: 1, current: 1 },
          retention_days: 30,
        },
      },
    },
    async handle({ response }) {
      const { accountId, plan } = principalOf(response);
      await deps.reserve.settle(accountId);
      const usage = await readUsage({ accountId, plan, month: utcMonth(deps.now()) });
      return { status: 200, body: usage satisfies z.output<typeof usageSchema> };
    },
  });
}

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
