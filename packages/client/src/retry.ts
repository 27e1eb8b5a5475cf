export interface RetryLimits {
  retries: number;
  /** The first wait; it doubles with each attempt. Up to half of it is random, so callers do not return together. */
  baseMs: number;
  maxMs: number;
  /** A longer `Retry-After` ends the call. */
  maxRetryAfterMs: number;
}

/** 409 means that the first request with the same idempotency key is in progress. */
const retryableStatuses = new Set([408, 409, 429, 500, 502, 503, 504]);

export function isRetryableStatus(status: number): boolean {
  return retryableStatuses.has(status);
}

export function resolveRetryLimits(given: Partial<RetryLimits> = {}): RetryLimits {
  return { retries: 20, baseMs: 100, maxMs: 5_000, maxRetryAfterMs: 30_000, ...given };
}

/**
 * The wait before the next attempt, or null for no further one.
 * @param attempt the one that failed, from 1
 * @param askedMs the service's `Retry-After`
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
 * Milliseconds of a `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3); null if missing or malformed.
 * @param nowMs milliseconds since 1970
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
