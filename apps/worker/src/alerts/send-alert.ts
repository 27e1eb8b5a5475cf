import { type AlertKey, readPendingAlert, settleAlert } from "@waymark/alerts";
import type { Mailer } from "@waymark/alerts/mail";
import { asMail, composeTrace, judgeMail, neverSent } from "@waymark/alerts/sending";
import type { JobOutcome } from "@waymark/service/queue";
import type pg from "pg";
import type { Logger } from "pino";

interface SendAlertDeps {
  pool: pg.Pool;
  mailer: Mailer;
  log: Logger;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
  /** Counts each attempt. */
  count(outcome: "sent" | "deferred" | "failed"): void;
}

/**
 * Sends the mail of one alert, if it is pending, and notes the result in its row before the job ends. Safe to repeat: the
 * alert's id is the mail's idempotency key. The caller has claimed the alert and checked the limits.
 */
export function createSendAlert(deps: SendAlertDeps): (alert: AlertKey) => Promise<JobOutcome> {
  const { pool, mailer, log, dashboardUrl, count } = deps;
  return async (alert) => {
    const pending = await readPendingAlert(pool, alert);
    if (!pending) return "done";
    const { trace, status, attempts, failures, email } = pending;
    if (email === null || !trace) {
      const reason = email === null ? "The account is gone" : "The trace is gone";
      await settleAlert(pool, alert, neverSent(reason));
      log.info(
        { ...alert, status, reason },
        "no alert mail: the trace or account was deleted or is past its retention",
      );
      return "done";
    }
    const mail = asMail(composeTrace({ type: "trace.failed", status, failures }, trace, dashboardUrl));
    const delivery = await mailer.send({ ...mail, to: email, idempotencyKey: alert.alertId });
    const attempt = judgeMail(delivery, { attempts });
    await settleAlert(pool, alert, attempt);
    const { state, reason, retryAfterMs } = attempt;
    const facts = { ...alert, traceId: trace.id, status };
    count(state === "pending" ? "deferred" : state);
    if (state === "sent") log.info({ ...facts, attempts: attempts + 1 }, "alert mail sent");
    else if (state === "failed") log.error({ ...facts, attempts: attempts + 1, reason }, "alert mail given up");
    else log.warn({ ...facts, reason, retryAfterMs }, "alert mail not sent yet");
    return state === "pending" ? { retryAfterMs } : "done";
  };
}
