import { pageRoute } from "@waymark/service/http";
import { deleteGoal, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { ownerOf } from "../session/viewer.js";

export function deleteGoalRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "delete",
    path: "/sites/:id/goals/:goalId",
    async handle({ response, params }) {
      const site = await requireSite(pool, ownerOf(response).accountId, params["id"] ?? "");
      await deleteGoal(pool, { siteId: site.id, goalId: params["goalId"] ?? "" });
      return { status: 200, body: {} };
    },
  });
}
