import { readRetryAfter } from "../retry-after.js";
import type { Delivery, Mailer } from "./mailer.js";

interface ResendMailerOptions {
  apiKey: string;
  /** Of Resend's API, without a slash at the end. */
  baseUrl: string;
  from: string;
  timeoutMs?: number;
  now?: () => number;
}

/** Resend answers within a second or two; the idempotency key makes giving up safe. */
const defaultTimeoutMs = 15_000;

/** After a 429 without `Retry-After`: Resend counts by the second. */
const defaultRateLimitMs = 1_000;

/** The mail itself is wrong. A wrong key or sender is not here: the operator can mend it, and the mail waits. */
const refusedStatuses: readonly number[] = [400, 404, 405, 413, 422];

/**
 * Sends through Resend's API (resend.com/docs/api-reference/errors). While Resend says 429, further mails are not even
 * tried: one answer is enough to know.
 */
export function createResendMailer(options: ResendMailerOptions): Mailer {
  const { from, timeoutMs = defaultTimeoutMs, now = Date.now } = options;
  let closedUntil = 0;
  return {
    async send({ idempotencyKey, ...mail }) {
      const closedMs = closedUntil - now();
      if (closedMs > 0) return { outcome: "rate-limited", reason: "Resend asked to wait", retryAfterMs: closedMs };
      const { Resend } = await import("resend");
      const resend = new Resend(options.apiKey, { baseUrl: options.baseUrl });
      const signal = AbortSignal.timeout(timeoutMs);
      const { error, headers } = await resend.emails.send({ from, ...mail }, { idempotencyKey, signal });
      if (!error) return { outcome: "sent" };
      const retryAfterMs = readRetryAfter(headers?.["retry-after"], now());
      const delivery = judge({ ...error, isTimeout: signal.aborted }, retryAfterMs);
      if (delivery.outcome === "rate-limited") closedUntil = now() + delivery.retryAfterMs;
      return delivery;
    },
  };
}

interface Failure {
  name?: string;
  message?: string;
  /** Null without an answer; missing if the answer's body does not repeat it. */
  statusCode?: number | null;
  isTimeout: boolean;
}

function judge(failure: Failure, retryAfterMs: number | undefined): Delivery {
  const { name = "", statusCode = null } = failure;
  // An earlier attempt used the key with another text: Resend sent that mail.
  if (name === "invalid_idempotent_request") return { outcome: "sent" };
  const reason = describe(failure);
  if (name.endsWith("_quota_exceeded")) return { outcome: "deferred", reason, retryAfterMs };
  const isRateLimited = statusCode === 429 || (statusCode === null && retryAfterMs !== undefined);
  if (isRateLimited) return { outcome: "rate-limited", reason, retryAfterMs: retryAfterMs ?? defaultRateLimitMs };
  if (statusCode !== null && refusedStatuses.includes(statusCode)) return { outcome: "refused", reason };
  return { outcome: "deferred", reason, retryAfterMs };
}

function describe({ name, message, statusCode, isTimeout }: Failure): string {
  if (isTimeout) return "Resend did not answer in time";
  const status = typeof statusCode === "number" ? `Resend answered ${statusCode}` : "Resend could not be reached";
  return `${status}: ${[name, message].filter(Boolean).join(": ")}`;
}
