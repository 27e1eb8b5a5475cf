import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { ownerOf } from "../session/viewer.js";
import { keepCustomer, readBilling } from "./billing.query.js";
import type { PaymentPage } from "./billing.schema.js";
import type { Payments } from "./payments.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
  now(): Date;
}

const body = z.object({});
const answers = { 200: { description: "The page of Stripe", schema: z.custom<PaymentPage>() } };

/** `POST /billing/checkout`. An account with a subscription gets its portal: a second one would be paid twice. */
export function startCheckoutRoute({ pool, payments, now }: Deps) {
  return route({
    method: "post",
    path: "/billing/checkout",
    operationId: "startCheckout",
    summary: "Begin the payment for the Pro plan",
    body,
    answers,
    async handle({ response }) {
      const { accountId } = ownerOf(response);
      const account = await readBilling(pool, accountId);
      if (!payments || !account) throw new AppError("not_found");
      const { email, customerId: known, subscriptionId } = account;
      const url = await atStripe(async () => {
        const customerId =
          known ?? (await keepCustomer(pool, accountId, await payments.createCustomer({ accountId, email })));
        if (subscriptionId !== null) return payments.openPortal(customerId);
        return payments.startCheckout({ accountId, customerId, now: now() });
      });
      return { status: 200, body: { url } satisfies PaymentPage };
    },
  });
}

/** `POST /billing/portal` */
export function openPortalRoute({ pool, payments }: Deps) {
  return route({
    method: "post",
    path: "/billing/portal",
    operationId: "openPortal",
    summary: "Open Stripe's page for invoices, payment and cancellation",
    body,
    answers,
    async handle({ response }) {
      const { accountId } = ownerOf(response);
      const customerId = (await readBilling(pool, accountId))?.customerId;
      if (!payments || !customerId) throw new AppError("not_found");
      const url = await atStripe(() => payments.openPortal(customerId));
      return { status: 200, body: { url } satisfies PaymentPage };
    },
  });
}

/** @throws AppError 502 for an error of Stripe's library */
export async function atStripe<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isStripes = error instanceof Error && "rawType" in error;
    if (!isStripes) throw error;
    throw new AppError("payments_away", { cause: error });
  }
}
