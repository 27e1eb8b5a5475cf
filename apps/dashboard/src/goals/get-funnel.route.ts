import { route } from "@waymark/http";
import { type FunnelFigures, readFunnel, readInTime, resolveRange } from "@waymark/statistics";
import { z } from "zod";
import { readOwnSite } from "../statistics/read-own-site.js";
import { type Answer, goalsQuery } from "./goals.schema.js";
import type { GoalDeps } from "./list-goals.route.js";

export function getFunnelRoute(deps: GoalDeps) {
  return route({
    method: "get",
    path: "/sites/:id/funnels/:funnelId",
    operationId: "getFunnel",
    summary: "How far visitors went in a funnel",
    query: goalsQuery,
    answers: { 200: { description: "The funnel's steps", schema: z.custom<Answer & FunnelFigures>() } },
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const funnelId = input.params["funnelId"] ?? "";
      const body = await readOwnSite(deps, input, async ({ id: siteId }): Promise<Answer & FunnelFigures> => {
        const figures = await readInTime(asked, readFunnel(deps, { siteId, funnelId, days, filters }));
        return { ...asked, ...figures };
      });
      return { status: 200, body };
    },
  });
}
