import type { JobOutcome, TraceFinalized } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { judgeDelivery, neverSent, outcomeOf } from "./attempt.js";
import { composeMail } from "./compose-mail.js";
import { findOwedAlert } from "./find-owed-alert.query.js";
import type { Mailer } from "./mailer.js";
import { settleAlert } from "./settle-alert.query.js";

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
 * Sends the mail of one alert, if it is still owed: what happened to it is in its row before the job ends. Safe to run twice,
 * since the alert's id is the mail's idempotency key. Whether its turn has come and the limits let it go is decided before.
 */
export function createSendFailureMail(deps: FailureMailDeps): (alert: TraceFinalized) => Promise<JobOutcome> {
  const { pool, mailer, log, dashboardUrl, count } = deps;
  return async (alert) => {
    const owed = await findOwedAlert(pool, alert);
    if (!owed) return "done";
    const { trace, status, attempts, failures, email } = owed;
    if (email === null || !trace) {
      const reason = email === null ? "The account is gone" : "The trace is gone";
      await settleAlert(pool, alert, neverSent(reason));
      log.info(
        { ...alert, status, reason },
        "no failure mail: what it would tell of was deleted or is past its retention",
      );
      return "done";
    }
    const delivery = await mailer.send({
      ...composeMail({ alert: { status, trace, failures }, dashboardUrl }),
      to: email,
      idempotencyKey: alert.alertId,
    });
    const attempt = judgeDelivery(delivery, attempts);
    await settleAlert(pool, alert, attempt);
    const outcome = outcomeOf(attempt);
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
