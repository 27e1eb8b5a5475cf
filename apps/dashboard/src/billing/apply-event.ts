import { changePlan } from "@waymark/accounts";
import { withTransaction } from "@waymark/database";
import { recordAudit } from "@waymark/identity";
import { type PlanId, planOf } from "@waymark/plan";
import type pg from "pg";
import type { Logger } from "pino";
import { addStripeEvent, type BillingRow, findCustomer, lockCustomer, setSubscription } from "./billing.query.js";
import type { PaymentEvent, Payments, Subscription } from "./payments.js";
import { atStripe } from "./start-payment.route.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments;
  log: Logger;
}

/**
 * Applies an event once: it and the plan are stored in one transaction. The plan follows the subscription as Stripe has it
 * now, so the order of events does not matter. A failed read rolls all back, and Stripe sends the event again.
 */
export async function applyEvent({ pool, payments, log }: Deps, event: PaymentEvent): Promise<void> {
  const { id: eventId, customerId, subscriptionId } = event;
  await withTransaction(pool, async (client) => {
    if (!(await addStripeEvent(client, eventId)) || !customerId || !subscriptionId) return;
    await lockCustomer(client, customerId);
    const account = await findCustomer(client, customerId);
    if (!account) {
      log.warn({ eventId, type: event.type }, "an event of Stripe names a customer of no account");
      return;
    }
    const subscription = await atStripe(() => payments.readSubscription(subscriptionId));
    const change = decide(account, subscriptionId, subscription);
    if (!change) return;
    if (change.subscriptionId && account.subscriptionId && change.subscriptionId !== account.subscriptionId) {
      log.warn({ accountId: account.id }, "an account has a second subscription at Stripe");
    }
    await setSubscription(client, account.id, change.subscriptionId);
    if (change.plan === account.plan) return;
    await changePlan(client, account.id, change.plan);
    const subject = `${planOf(change.plan).name}, by Stripe`;
    await recordAudit(client, { accountId: account.id, personId: null, action: "plan_changed", subject });
  });
}

/** A live subscription brings Pro. Only the end of the account's own subscription brings Free. */
function decide(
  account: BillingRow,
  subscriptionId: string,
  subscription: Subscription | undefined,
): { plan: PlanId; subscriptionId: string | null } | undefined {
  const isLive = subscription?.isLive === true && subscription.customerId === account.customerId;
  if (isLive) return { plan: "pro", subscriptionId };
  return account.subscriptionId === subscriptionId ? { plan: "free", subscriptionId: null } : undefined;
}
