import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { readBilling, readOnFree } from "./billing.query.js";
import type { Billing } from "./billing.schema.js";
import type { Payments } from "./payments.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
  now(): Date;
}

export function getBillingRoute({ pool, payments, now }: Deps) {
  return pageRoute({
    method: "get",
    path: "/billing",
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      const [account, onFree] = await Promise.all([readBilling(pool, accountId), readOnFree(pool, accountId, now())]);
      if (!account) throw new AppError("not_signed_in");
      const body: Billing = {
        plan: account.plan,
        paidBy: payments ? "stripe" : "operator",
        hasPortal: payments !== undefined && account.customerId !== null,
        hasSubscription: payments !== undefined && account.subscriptionId !== null,
        onFree,
      };
      return { status: 200, body };
    },
  });
}
