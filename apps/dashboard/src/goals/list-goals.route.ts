import { pageRoute } from "@waymark/service/http";
import { listGoals, readGoals, readInTime, resolveRange } from "@waymark/web-stats/statistics";
import { readOwnColumns, type StatisticsDeps } from "../statistics/read-own-site.js";
import { goalsQuery, type SiteGoals } from "./goals.schema.js";

export function listGoalsRoute(deps: StatisticsDeps) {
  return pageRoute({
    method: "get",
    path: "/sites/:id/goals",
    query: goalsQuery,
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const body = await readOwnColumns(deps, input, async ({ id: siteId }, columns): Promise<SiteGoals> => {
        const { goals, ...rest } = await readInTime(asked, readGoals({ ...deps, columns }, { siteId, days, filters }));
        const rules = new Map((await listGoals(deps.pool, siteId)).map((goal) => [goal.id, goal]));
        const none = { event: null, property: null, value: null, page: null };
        return { ...asked, goals: goals.map((goal) => ({ ...none, ...rules.get(goal.id), ...goal })), ...rest };
      });
      return { status: 200, body };
    },
  });
}
