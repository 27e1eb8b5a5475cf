import { pageRoute } from "@waymark/service/http";
import { deleteFunnel, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { ownerOf } from "../session/viewer.js";

export function deleteFunnelRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "delete",
    path: "/sites/:id/funnels/:funnelId",
    async handle({ response, params }) {
      const site = await requireSite(pool, ownerOf(response).accountId, params["id"] ?? "");
      await deleteFunnel(pool, { siteId: site.id, funnelId: params["funnelId"] ?? "" });
      return { status: 200, body: {} };
    },
  });
}
