import { pageRoute } from "@waymark/service/http";
import { createFunnel, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { createFunnelBody } from "./goals.schema.js";

export function createFunnelRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "post",
    path: "/sites/:id/funnels",
    body: createFunnelBody,
    async handle({ response, params, body }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      return { status: 201, body: await createFunnel(pool, site.id, body) };
    },
  });
}
