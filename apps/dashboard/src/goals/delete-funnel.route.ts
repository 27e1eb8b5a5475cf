import { route } from "@waymark/service/http";
import { deleteFunnel, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { ownerOf } from "../session/viewer.js";

export function deleteFunnelRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "delete",
    path: "/sites/:id/funnels/:funnelId",
    operationId: "deleteFunnel",
    summary: "Delete a funnel; its goals stay",
    answers: { 200: { description: "Deleted", schema: z.object({}) } },
    async handle({ response, params }) {
      const site = await requireSite(pool, ownerOf(response).accountId, params["id"] ?? "");
      await deleteFunnel(pool, { siteId: site.id, funnelId: params["funnelId"] ?? "" });
      return { status: 200, body: {} };
    },
  });
}
