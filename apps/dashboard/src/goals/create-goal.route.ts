import { pageRoute } from "@waymark/service/http";
import { createGoal, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { createGoalBody } from "./goals.schema.js";

export function createGoalRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "post",
    path: "/sites/:id/goals",
    body: createGoalBody,
    async handle({ response, params, body }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      const { id, name } = await createGoal(pool, site.id, body);
      return { status: 201, body: { id, name } };
    },
  });
}
