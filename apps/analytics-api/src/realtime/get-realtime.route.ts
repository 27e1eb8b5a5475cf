import { principalOf } from "@waymark/auth";
import { route } from "@waymark/http";
import { readRealtime, requireSite } from "@waymark/statistics";
import type pg from "pg";
import { z } from "zod";
import { commonAnswers, limitHeaders, siteNotFound, unknownParameter } from "../api.js";
import type { ReadShares } from "../reads/read-shares.js";

const windowMinutes = 5;

/** `GET /sites/:id/realtime`: who is on the site now. An extension of the contract. */
export function getRealtimeRoute({ pool, reads, now }: { pool: pg.Pool; reads: ReadShares; now(): Date }) {
  return route({
    method: "get",
    path: "/sites/:id/realtime",
    operationId: "getRealtime",
    summary: "Read how many visitors are on a site now",
    description: `Extension of the contract: the visitors with a page view in the last ${windowMinutes} minutes. Visitors are told apart per UTC day, so somebody who stays over midnight counts twice in the minutes after it.`,
    params: { id: "The site's id" },
    answers: {
      200: {
        description: "Visitors since the moment that the answer names",
        schema: z.object({ since: z.string(), visitors: z.number() }),
        example: { since: "2026-03-15T09:55:00.000Z", visitors: 3 },
        headers: limitHeaders,
      },
      400: unknownParameter,
      ...commonAnswers,
      404: siteNotFound,
    },
    async handle({ params, response }) {
      const siteId = params["id"] ?? "";
      const { accountId } = principalOf(response);
      await requireSite(pool, accountId, siteId);
      const until = now().getTime();
      const from = until - windowMinutes * 60_000;
      const visitors = await reads.read(
        accountId,
        () => readRealtime(pool, { siteId, from, until }),
        () => response.destroyed,
      );
      return { status: 200, body: { since: new Date(from).toISOString(), visitors } };
    },
  });
}
