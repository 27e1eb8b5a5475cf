import { route } from "@waymark/service/http";
import { createGoal, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { createGoalBody } from "./goals.schema.js";

export function createGoalRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "post",
    path: "/sites/:id/goals",
    operationId: "createGoal",
    summary: "Add a goal: a custom event, perhaps with a property's value, or a page pattern",
    body: createGoalBody,
    answers: { 201: { description: "The goal", schema: z.object({ id: z.string(), name: z.string() }) } },
    async handle({ response, params, body }) {
      const site = await requireSite(pool, viewerOf(response).accountId, params["id"] ?? "");
      const { id, name } = await createGoal(pool, site.id, body);
      return { status: 201, body: { id, name } };
    },
  });
}
