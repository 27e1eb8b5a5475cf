import { route } from "@waymark/service/http";
import {
  type DayColumns,
  filtersParameter,
  type ReadShares,
  readFilteredRealtime,
  readRealtime,
  realtimeMinutes,
} from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery, limitHeaders, siteNotFound } from "../api.js";
import { readOwnFiltered } from "../reads/read-own-site.js";

/** `GET /sites/:id/realtime`, an extension of the contract. */
export function getRealtimeRoute(deps: { pool: pg.Pool; reads: ReadShares; columns: DayColumns; now(): Date }) {
  const { pool, now } = deps;
  return route({
    method: "get",
    path: "/sites/:id/realtime",
    operationId: "getRealtime",
    summary: "Read how many visitors are on a site now",
    description: `Extension of the contract: the visitors with a page view in the last ${realtimeMinutes} minutes. A visitor counts once per UTC day, so somebody who stays over midnight counts twice in the minutes after it.`,
    params: { id: "The site's id" },
    query: z.object({ filters: filtersParameter }),
    answers: {
      200: {
        description: "The visitors since the moment `since`",
        schema: z.object({ since: z.string(), visitors: z.number() }),
        example: { since: "2026-03-15T09:55:00.000Z", visitors: 3 },
        headers: limitHeaders,
      },
      400: invalidQuery,
      404: siteNotFound,
    },
    async handle(input) {
      const body = await readOwnFiltered(deps, input, (siteId, filtering) =>
        filtering
          ? readFilteredRealtime(filtering, { siteId, now: now() })
          : readRealtime(pool, { siteId, now: now() }),
      );
      return { status: 200, body };
    },
  });
}
