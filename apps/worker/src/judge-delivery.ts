import type { Attempt } from "@waymark/alerts";
import type { Delivery } from "@waymark/alerts/mail";

/**
 * After a failed attempt the next one follows in 2 s, then 4 s, doubled up to two hours. All attempts take about 16 hours.
 * Resend remembers idempotency keys for a day, so no attempt can become a second mail.
 */
const backoff = { firstMs: 2_000, maxMs: 2 * 3_600_000, attempts: 20 } as const;

/** An attempt takes less: a mail service gets 15 seconds to answer. Should the worker die, the mail is due again then. */
export const leaseMs = 30_000;

/** Settles an alert or summary without a mail, since its trace or account is gone. */
export function neverSent(reason: string): Attempt {
  return { state: "failed", reason, counts: false, retryAfterMs: 0 };
}

/** Decides from a delivery, and the number of attempts before it, whether and when to try again. */
export function judgeDelivery(delivery: Delivery, attemptsBefore: number): Attempt {
  if (delivery.outcome === "sent") return { state: "sent", reason: null, counts: true, retryAfterMs: 0 };
  const { reason } = delivery;
  if (delivery.outcome === "rate-limited") {
    return { state: "pending", reason, counts: false, retryAfterMs: delivery.retryAfterMs };
  }
  if (delivery.outcome === "refused" || attemptsBefore + 1 >= backoff.attempts) {
    return { state: "failed", reason, counts: true, retryAfterMs: 0 };
  }
  const waitMs = Math.min(backoff.firstMs * 2 ** attemptsBefore, backoff.maxMs);
  return { state: "pending", reason, counts: true, retryAfterMs: Math.max(waitMs, delivery.retryAfterMs ?? 0) };
}
