import { readPlanUsage } from "@waymark/accounts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { Usage } from "./billing.schema.js";

/** `GET /usage`, as the trace API answers it. */
export function getUsageRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return pageRoute({
    method: "get",
    path: "/usage",
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      return { status: 200, body: (await readPlanUsage(pool, accountId, now())) satisfies Usage };
    },
  });
}
