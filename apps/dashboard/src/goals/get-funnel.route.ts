import { pageRoute } from "@waymark/service/http";
import { type FunnelFigures, readFunnel, readInTime, resolveRange } from "@waymark/web-stats/statistics";
import { readOwnColumns, type StatisticsDeps } from "../statistics/read-own-site.js";
import { type Answer, goalsQuery } from "./goals.schema.js";

export function getFunnelRoute(deps: StatisticsDeps) {
  return pageRoute({
    method: "get",
    path: "/sites/:id/funnels/:funnelId",
    query: goalsQuery,
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const funnelId = input.params["funnelId"] ?? "";
      const body = await readOwnColumns(
        deps,
        input,
        async ({ id: siteId }, columns): Promise<Answer & FunnelFigures> => {
          const figures = await readInTime(
            asked,
            readFunnel({ ...deps, columns }, { siteId, funnelId, days, filters }),
          );
          return { ...asked, ...figures };
        },
      );
      return { status: 200, body };
    },
  });
}
