import { pageRoute } from "@waymark/service/http";
import { listFunnels, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";

export function listFunnelsRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/sites/:id/funnels",
    async handle({ response, params }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      const funnels = (await listFunnels(pool, site.id)).map(({ id, name, steps }) => ({
        id,
        name,
        steps: steps.map((goal) => ({ goalId: goal.id, name: goal.name })),
      }));
      return { status: 200, body: { funnels } };
    },
  });
}
