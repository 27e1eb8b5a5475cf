/** How often a call is tried again, and how long is waited before. */
export interface RetryLimits {
  /** Attempts after the first one; 0 for none. */
  retries: number;
  /** The wait before the first one; it doubles from there. A random half of it is left out, so that clients do not come back together. */
  baseMs: number;
  /** The longest wait of our own. */
  maxMs: number;
  /** A `Retry-After` up to this is waited for; a longer one ends the call. */
  maxRetryAfterMs: number;
}

/** A request that ran out of time, one whose twin is in progress, one too many, and a service that is not well. */
const retryableStatuses = new Set([408, 409, 429, 500, 502, 503, 504]);

/** Whether another attempt may be answered differently. */
export function isRetryableStatus(status: number): boolean {
  return retryableStatuses.has(status);
}

/** The limits, with defaults for what is not given. */
export function resolveRetryLimits(given: Partial<RetryLimits> = {}): RetryLimits {
  return { retries: 20, baseMs: 100, maxMs: 5_000, maxRetryAfterMs: 30_000, ...given };
}

/**
 * How long to wait before the next attempt.
 * @param attempt which one has just failed, from 1
 * @param askedMs what the service asked for
 * @param random 0 up to 1
 * @returns milliseconds; null when there is to be no further attempt
 */
export function retryDelayMs(
  limits: RetryLimits,
  attempt: number,
  askedMs: number | null,
  random: () => number = Math.random,
): number | null {
  if (attempt > limits.retries) return null;
  if (askedMs !== null && askedMs > limits.maxRetryAfterMs) return null;
  const fullMs = Math.min(limits.maxMs, limits.baseMs * 2 ** (attempt - 1));
  const ownMs = fullMs * (0.5 + random() / 2);
  return Math.max(ownMs, askedMs ?? 0);
}

/**
 * What a `Retry-After` says (RFC 9110, section 10.2.3): seconds, or a date.
 * @param nowMs the moment that a date is counted from, in milliseconds since 1970
 * @returns milliseconds, not below 0; null where there is none or it says nothing
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
