import { type Attempt, type Before, giveUp, sent, tryLater } from "../attempt.js";
import type { Delivery } from "../mail/index.js";

/** Decides from the mail service's answer whether and when to try again. */
export function judgeMail(delivery: Delivery, before: Before): Attempt {
  if (delivery.outcome === "sent") return sent;
  const { reason, outcome } = delivery;
  if (outcome === "refused") return giveUp(reason);
  if (outcome === "deferred") return tryLater(reason, before, delivery.retryAfterMs);
  return { ...sent, state: "pending", reason, counts: false, retryAfterMs: delivery.retryAfterMs };
}
