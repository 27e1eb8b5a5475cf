import { principalOf } from "@waymark/auth";
import { route } from "@waymark/service/http";
import {
  filtersParameter,
  readOwnSite,
  readRealtime,
  realtimeMinutes,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { siteAnswers } from "../api.js";

/** `GET /sites/:id/realtime`, an extension of the contract. */
export function getRealtimeRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/realtime",
    operationId: "getRealtime",
    summary: "Read how many visitors are on a site now",
    description: `Extension of the contract: the visitors with a page view in the last ${realtimeMinutes} minutes. A visitor counts once per UTC day, so somebody who stays over midnight counts twice in the minutes after it.`,
    params: { id: "The site's id" },
    query: z.object({ filters: filtersParameter }),
    answers: siteAnswers({
      description: "The visitors since the moment `since`",
      schema: z.object({ since: z.string(), visitors: z.number() }),
      example: { since: "2026-03-15T09:55:00.000Z", visitors: 3 },
    }),
    async handle(input) {
      const body = await readOwnSite(deps, principalOf(input.response), input, ({ id: siteId }, filtering) =>
        readRealtime(deps.pool, { siteId, now: deps.now(), filtering }),
      );
      return { status: 200, body };
    },
  });
}
