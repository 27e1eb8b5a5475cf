import { readPlanUsage } from "@waymark/accounts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import type { Usage } from "./billing.schema.js";

/** `GET /usage`, as the trace API answers it. */
export function getUsageRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return route({
    method: "get",
    path: "/usage",
    operationId: "getUsage",
    summary: "The plan's limits and their use in this UTC month",
    answers: { 200: { description: "Limits and use", schema: z.custom<Usage>() } },
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      return { status: 200, body: (await readPlanUsage(pool, accountId, now())) satisfies Usage };
    },
  });
}
