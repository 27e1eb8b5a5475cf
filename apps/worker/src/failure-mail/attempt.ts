import type { JobOutcome } from "@waymark/queue";
import type { Delivery } from "./mailer.js";

/** How an attempt left an alert or a summary. */
export interface Attempt {
  state: "sent" | "failed" | "owed";
  /** Why it was not sent. */
  reason: string | null;
  /** Whether the attempt counts towards giving up. */
  counts: boolean;
  /** When the next one may begin, where it is still owed. */
  retryAfterMs: number;
}

/**
 * After a failed attempt the next one follows in 2 s, then 4 s, doubled up to two hours. All of them together take about 16
 * hours: less than the day for which Resend remembers idempotency keys, so that no attempt can become a second mail.
 */
const backoff = { firstMs: 2_000, maxMs: 2 * 3_600_000, attempts: 20 } as const;

/** An attempt lasts less: a mail service gets 15 seconds to answer. Should the worker die, the mail is due again then. */
export const leaseMs = 30_000;

/** The attempt that settles what can never be sent. */
export function neverSent(reason: string): Attempt {
  return { state: "failed", reason, counts: false, retryAfterMs: 0 };
}

/** What a delivery means after so many attempts before it. */
export function judgeDelivery(delivery: Delivery, attemptsBefore: number): Attempt {
  if (delivery.outcome === "sent") return { state: "sent", reason: null, counts: true, retryAfterMs: 0 };
  const { reason } = delivery;
  if (delivery.outcome === "rate-limited") {
    return { state: "owed", reason, counts: false, retryAfterMs: delivery.retryAfterMs };
  }
  if (delivery.outcome === "refused" || attemptsBefore + 1 >= backoff.attempts) {
    return { state: "failed", reason, counts: true, retryAfterMs: 0 };
  }
  const waitMs = Math.min(backoff.firstMs * 2 ** attemptsBefore, backoff.maxMs);
  return { state: "owed", reason, counts: true, retryAfterMs: Math.max(waitMs, delivery.retryAfterMs ?? 0) };
}

/** What the attempt means for the job. */
export function outcomeOf({ state, retryAfterMs }: Attempt): JobOutcome {
  return state === "owed" ? { retryAfterMs } : "done";
}
