import type { JobOutcome, TraceFinalized } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { composeMail } from "./compose-mail.js";
import { findOwedAlert } from "./find-owed-alert.query.js";
import type { Delivery, Mailer } from "./mailer.js";
import { type Attempt, settleAlert } from "./settle-alert.query.js";

export interface FailureMailDeps {
  pool: pg.Pool;
  mailer: Mailer;
  log: Logger;
  /** Where the dashboard is, without a slash at the end. */
  dashboardUrl: string;
  /** Told how each attempt ended. */
  count(outcome: "sent" | "deferred" | "failed"): void;
}

/**
 * After a failed attempt the next one follows in 2 s, then 4 s, doubled up to two hours. All of them together take about 16
 * hours: less than the day for which Resend remembers idempotency keys, so that no attempt can become a second mail.
 */
const backoff = { firstMs: 2_000, maxMs: 2 * 3_600_000, attempts: 20 } as const;

/**
 * Sends the mail of one alert, if it is still owed: what happened to it is in its row before the job ends. Safe to run twice,
 * since the alert's id is the mail's idempotency key.
 */
export function createSendFailureMail(deps: FailureMailDeps): (alert: TraceFinalized) => Promise<JobOutcome> {
  const { pool, mailer, log, dashboardUrl, count } = deps;
  return async (alert) => {
    const owed = await findOwedAlert(pool, alert);
    if (!owed) return "done";
    const { trace, status, attempts } = owed;
    if (!trace) {
      await settleAlert(pool, alert, { state: "failed", reason: "The trace is gone", counts: false });
      log.info({ ...alert, status }, "no failure mail: the trace was deleted or is past its retention");
      return "done";
    }
    const delivery = await mailer.send({
      ...composeMail({ alert: { status, trace }, dashboardUrl }),
      to: owed.email,
      idempotencyKey: alert.alertId,
    });
    const { attempt, outcome } = decide(delivery, attempts);
    await settleAlert(pool, alert, attempt);
    const facts = { alertId: alert.alertId, accountId: alert.accountId, traceId: trace.id, status };
    if (attempt.state === "sent") {
      count("sent");
      log.info({ ...facts, attempts: attempts + 1 }, "failure mail sent");
    } else if (attempt.state === "failed") {
      count("failed");
      log.error({ ...facts, attempts: attempts + 1, reason: attempt.reason }, "failure mail given up");
    } else {
      count("deferred");
      log.warn({ ...facts, reason: attempt.reason, outcome }, "failure mail not sent yet");
    }
    return outcome;
  };
}

/** What an attempt means for the alert's row and for the job, after so many attempts before it. */
function decide(delivery: Delivery, attemptsBefore: number): { attempt: Attempt; outcome: JobOutcome } {
  if (delivery.outcome === "sent") return { attempt: { state: "sent", reason: null, counts: true }, outcome: "done" };
  const { reason } = delivery;
  if (delivery.outcome === "rate-limited") {
    const { retryAfterMs } = delivery;
    return { attempt: { state: "owed", reason, counts: false }, outcome: { retryAfterMs } };
  }
  if (delivery.outcome === "refused" || attemptsBefore + 1 >= backoff.attempts)
    return { attempt: { state: "failed", reason, counts: true }, outcome: "done" };
  const waitMs = Math.min(backoff.firstMs * 2 ** attemptsBefore, backoff.maxMs);
  const retryAfterMs = Math.max(waitMs, delivery.retryAfterMs ?? 0);
  return { attempt: { state: "owed", reason, counts: true }, outcome: { retryAfterMs } };
}
