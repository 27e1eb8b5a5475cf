import { principalOf } from "@waymark/auth";
import { planIds, utcMonth } from "@waymark/plan";
import { named, route } from "@waymark/service/http";
import { getUsage, oneByOne, type TimedBatching, timestamp } from "@waymark/traces";
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
