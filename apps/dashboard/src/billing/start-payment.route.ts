import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { ownerOf } from "../session/viewer.js";
import { atStripe } from "./at-stripe.js";
import { type BillingRow, keepCustomer, readBilling } from "./billing.query.js";
import type { PaymentPage } from "./billing.schema.js";
import type { Payments } from "./payments.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
}

interface Page {
  name: "checkout" | "portal";
  /** @returns the page's address; undefined where the account has no such page */
  open(payments: Payments, account: BillingRow): Promise<string | undefined>;
}

/** A route that leads an owner to a page of Stripe. */
function stripeRoute({ pool, payments }: Deps, { name, open }: Page) {
  return pageRoute({
    method: "post",
    path: `/billing/${name}`,
    body: z.object({}),
    async handle({ response }) {
      const account = await readBilling(pool, ownerOf(response).accountId);
      const url = payments && account && (await atStripe(() => open(payments, account)));
      if (url === undefined) throw new AppError("not_found");
      return { status: 200, body: { url } satisfies PaymentPage };
    },
  });
}

/**
 * `POST /billing/checkout`. An account that pays already gets its portal: a second subscription would be paid twice. Stripe
 * knows of a payment before its webhook comes.
 */
export function startCheckoutRoute(deps: Deps) {
  return stripeRoute(deps, {
    name: "checkout",
    async open(payments, { id: accountId, email, customerId: known }) {
      if (known !== null && (await payments.readLive(known)).length > 0) return payments.openPortal(known);
      const created = known ?? (await payments.createCustomer({ accountId, email }));
      const customerId = known ?? (await keepCustomer(deps.pool, accountId, created));
      return payments.startCheckout({ accountId, customerId });
    },
  });
}

export function openPortalRoute(deps: Deps) {
  return stripeRoute(deps, {
    name: "portal",
    open: async (payments, { customerId }) => (customerId === null ? undefined : payments.openPortal(customerId)),
  });
}
