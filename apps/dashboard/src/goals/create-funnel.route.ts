import { route } from "@waymark/service/http";
import { createFunnel, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { createFunnelBody } from "./goals.schema.js";

export function createFunnelRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "post",
    path: "/sites/:id/funnels",
    operationId: "createFunnel",
    summary: "Add a funnel of two to eight goals in order",
    body: createFunnelBody,
    answers: { 201: { description: "The funnel", schema: z.object({ id: z.string(), name: z.string() }) } },
    async handle({ response, params, body }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      return { status: 201, body: await createFunnel(pool, site.id, body) };
    },
  });
}
