export interface Attempt {
  state: "sent" | "failed" | "pending";
  reason: string | null;
  /** Whether the attempt counts towards giving up. */
  counts: boolean;
  /** The next attempt of a pending one begins no sooner. */
  retryAfterMs: number;
  /** The receiver is gone for good: its channel ends. */
  isGone: boolean;
}

/** An attempt takes less: a receiver gets 10 seconds to answer, a mail service 15. Others leave what is claimed alone for it. */
export const leaseMs = 30_000;

export const sent: Attempt = { state: "sent", reason: null, counts: true, retryAfterMs: 0, isGone: false };

export function giveUp(reason: string): Attempt {
  return { ...sent, state: "failed", reason };
}

/** Settles without an attempt, since the trace, the channel or the account is gone. */
export function neverSent(reason: string): Attempt {
  return { ...giveUp(reason), counts: false };
}

const hourMs = 3_600_000;
/** Doubled with each attempt, up to an hour. */
const firstPauseMs = 2_000;
/** A pause is up to a tenth longer, so that what failed together does not come back together. */
const spread = 0.1;
/** From the first attempt on. Resend remembers idempotency keys for as long. */
const lifeMs = 24 * hourMs;

export interface Before {
  attempts: number;
  /** Since the first attempt began. */
  ageMs: number;
}

const pauseMs = (attempts: number) => Math.min(firstPauseMs * 2 ** attempts, hourMs);

/** The next attempt, up to a day after the first one. @param askedMs the wait that the receiver asks for, an hour at most */
export function tryLater(reason: string, { attempts, ageMs }: Before, askedMs = 0): Attempt {
  const spreadMs = pauseMs(attempts) * (1 + Math.random() * spread);
  const retryAfterMs = Math.max(spreadMs, Math.min(askedMs, hourMs));
  return ageMs + retryAfterMs > lifeMs ? giveUp(reason) : { ...sent, state: "pending", reason, retryAfterMs };
}

/** Sets the columns of an attempt in a delivery, by {@link attemptValues} from $3 on. */
export const noteAttemptSql = `
    attempts = attempts + $3::integer,
    last_error = $4,
    sent_at = CASE WHEN $5 = 'sent' THEN now() END,
    failed_at = CASE WHEN $5 = 'failed' THEN now() END,
    due_at = now() + $6 * interval '1 millisecond'`;

export function attemptValues({ counts, reason, state, retryAfterMs }: Attempt): unknown[] {
  return [counts ? 1 : 0, reason, state, retryAfterMs];
}
