import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { createAnswerCache } from "../answer-cache.js";
import { ownerOf } from "../session/viewer.js";
import { atStripe } from "./at-stripe.js";
import { readBilling } from "./billing.query.js";
import type { InvoiceList } from "./billing.schema.js";
import type { Payments } from "./payments.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
  now(): Date;
}

/** `GET /billing/invoices` (owners): the latest, as Stripe has them. */
export function listInvoicesRoute({ pool, payments, now }: Deps) {
  const cached = createAnswerCache<InvoiceList>(now);
  return pageRoute({
    method: "get",
    path: "/billing/invoices",
    async handle({ response }) {
      const { customerId, subscriptionId } = (await readBilling(pool, ownerOf(response).accountId)) ?? {};
      if (!payments || !customerId) throw new AppError("not_found");
      const read = async () => ({ invoices: await atStripe(() => payments.listInvoices(customerId)) });
      return { status: 200, body: await cached(`${customerId} ${subscriptionId}`, read) };
    },
  });
}
