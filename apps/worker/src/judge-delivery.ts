import type { Delivery } from "@waymark/alerts/mail";
import { type Attempt, giveUp, judgeMail, pause } from "@waymark/alerts/sending";

/**
 * After a failed attempt the next one follows in 2 s, then 4 s, doubled up to two hours. All attempts take about 16 hours.
 * Resend remembers idempotency keys for a day, so no attempt can become a second mail.
 */
const backoff = { firstMs: 2_000, maxMs: 2 * 3_600_000, attempts: 20 } as const;

/** Decides from a delivery, and the number of attempts before it, whether and when to try again. */
export function judgeDelivery(delivery: Delivery, attemptsBefore: number): Attempt {
  return judgeMail(delivery, (reason, askedMs = 0) => {
    if (attemptsBefore + 1 >= backoff.attempts) return giveUp(reason);
    const waitMs = Math.min(backoff.firstMs * 2 ** attemptsBefore, backoff.maxMs);
    return pause(reason, Math.max(waitMs, askedMs));
  });
}
