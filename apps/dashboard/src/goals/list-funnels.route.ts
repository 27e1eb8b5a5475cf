import { route } from "@waymark/service/http";
import { listFunnels, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";

const step = z.object({ goalId: z.string(), name: z.string() });
const answer = z.object({ funnels: z.array(z.object({ id: z.string(), name: z.string(), steps: z.array(step) })) });

export function listFunnelsRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "get",
    path: "/sites/:id/funnels",
    operationId: "listFunnels",
    summary: "A site's funnels with their steps, oldest first",
    answers: { 200: { description: "The funnels", schema: answer } },
    async handle({ response, params }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      const funnels = (await listFunnels(pool, site.id)).map(({ id, name, steps }) => ({
        ...{ id, name },
        steps: steps.map((goal) => ({ goalId: goal.id, name: goal.name })),
      }));
      return { status: 200, body: { funnels } };
    },
  });
}
