import { changePlan } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { type PlanId, planOf } from "@waymark/plan";
import { type EncodedBody, pageRoute } from "@waymark/service/http";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { addStripeEvent, type BillingRow, findCustomer, lockCustomer, setSubscription } from "./billing.query.js";
import { atStripe, isStripeId, type PaymentEvent, type Payments } from "./payments.js";

/** `POST /webhooks/stripe`: no session and no check of the origin; its signature proves the sender. */
export function stripeWebhookRoute({ pool, payments, log, now }: AppDeps) {
  return pageRoute({
    method: "post",
    basePath: "",
    path: "/webhooks/stripe",
    body: { "application/json": { schema: z.unknown() } },
    async handle({ body, request }) {
      if (!payments) throw new AppError("not_found");
      const { bytes } = body as EncodedBody<"application/json">;
      const event = payments.readEvent(bytes, request.get("stripe-signature") ?? "", now());
      if (!event) throw new AppError("bad_signature");
      if (!isStripeId(event.id)) throw validationError({ id: "Must be 1 to 255 printable characters of ASCII" });
      await applyEvent({ pool, payments, log }, event);
      return { status: 200, body: {} };
    },
  });
}

/**
 * Applies an event once: it and the plan are stored in one transaction. The plan follows the customer's subscriptions as Stripe
 * has them now, so the order of events does not matter. A failed read rolls all back, and Stripe sends the event again.
 */
async function applyEvent(
  { pool, payments, log }: Pick<AppDeps, "pool" | "log"> & { payments: Payments },
  event: PaymentEvent,
): Promise<void> {
  const { id: eventId, customerId, subscriptionId } = event;
  await withTransaction(pool, async (client) => {
    if (!(await addStripeEvent(client, eventId)) || !customerId || !subscriptionId) return;
    await lockCustomer(client, customerId);
    const account = await findCustomer(client, customerId);
    if (!account) {
      log.warn({ eventId, type: event.type }, "an event of Stripe names a customer of no account");
      return;
    }
    const live = await atStripe(() => payments.readLive(customerId));
    if (live.length > 1)
      log.warn({ accountId: account.id, live }, "an account pays for several subscriptions at Stripe");
    const change = decide(account, live);
    if (!change) return;
    await setSubscription(client, account.id, change.subscriptionId);
    if (change.plan === account.plan) return;
    await changePlan(client, account.id, change.plan);
    const subject = `${planOf(change.plan).name}, by Stripe`;
    await recordAudit(client, { accountId: account.id, personId: null, action: "plan_changed", subject });
  });
}

/** A live subscription brings Pro. Without any, Free comes back where one had paid; the operator's Pro stays. */
function decide(
  { subscriptionId }: BillingRow,
  live: readonly string[],
): { plan: PlanId; subscriptionId: string | null } | undefined {
  const [first] = live;
  if (first === undefined) return subscriptionId === null ? undefined : { plan: "free", subscriptionId: null };
  const isKept = subscriptionId !== null && live.includes(subscriptionId);
  return { plan: "pro", subscriptionId: isKept ? subscriptionId : first };
}
