import { daysQuerySchema, modelUsageToRead, readDearestTraces, readModelDays, readUsageTables } from "@waymark/traces";
import { createAnswerCache } from "../answer-cache.js";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type Costs = AnswerOf<typeof costRoutes, "get /costs">;
export type DearestTraces = AnswerOf<typeof costRoutes, "get /costs/traces">;

/** Models with days of their own: those that cost most. */
const drawnModels = 10;

export function costRoutes({ pool, now }: AppDeps) {
  const readDearest = createAnswerCache(now, (accountId: string, from: string, to: string, agent: string | null) =>
    readDearestTraces(pool, { accountId, from, to, agentId: agent ?? undefined }),
  );
  return [
    viewerRoute("get", "/costs", {
      query: daysQuerySchema,
      async handle({ viewer, query }) {
        const read = modelUsageToRead(viewer.accountId, query, now());
        const { from, to } = read;
        const tables = await readUsageTables(pool, { ...read, interval: "day" });
        const days = daysBefore(read, now());
        const before = days && (await readUsageTables(pool, { ...read, ...days, interval: "day" }));
        return {
          from,
          to,
          ...tables,
          modelDays: await readModelDays(pool, read, tables.models.slice(0, drawnModels)),
          before: days && before ? { ...days, total: before.total, series: before.series } : null,
        };
      },
    }),
    /** Apart, since it sums calls instead of days. */
    viewerRoute("get", "/costs/traces", {
      query: daysQuerySchema,
      handle({ viewer, query }) {
        const { accountId, from, to, agentId = null } = modelUsageToRead(viewer.accountId, query, now());
        return readDearest(accountId, from, to, agentId);
      },
    }),
  ];
}

const dayMs = 86_400_000;

/** As many days before a range as it has finished ones: the present day compares with nothing. */
function daysBefore({ from, to }: { from: string; to: string }, now: Date): { from: string; to: string } | undefined {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const finished = Math.min(Date.parse(to), today) - Date.parse(from);
  const start = Date.parse(from) - finished;
  if (finished <= 0 || start < 0) return undefined;
  return { from: new Date(start).toISOString().slice(0, 10), to: from };
}
