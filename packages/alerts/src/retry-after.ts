/** The longest wait to accept. */
const maxMs = 24 * 3_600_000;

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), as milliseconds from now; undefined where it says neither. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const waitMs = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), maxMs);
}
