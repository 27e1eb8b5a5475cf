import { changePlan, findPlan } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import type { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { changePlanBody } from "./billing.schema.js";

/** `PUT /plan`, for people of `OPERATORS`: sets the plan of the account they are in. */
export function changePlanRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "put",
    path: "/plan",
    body: changePlanBody,
    async handle({ body: { plan }, response }) {
      const { accountId, personId, isOperator } = viewerOf(response);
      if (!isOperator) throw new AppError("operator_only");
      await withTransaction(pool, async (client) => {
        const { plan: before } = await findPlan(client, accountId);
        if (before === plan) return;
        await changePlan(client, accountId, plan);
        await recordAudit(client, { accountId, personId, action: "plan_changed", subject: planOf(plan).name });
      });
      return { status: 200, body: { plan } satisfies z.output<typeof changePlanBody> };
    },
  });
}
