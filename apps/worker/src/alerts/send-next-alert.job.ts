import { type AlertKey, type Claim, claimAlert, findWait, type MailLimits } from "@waymark/alerts";
import type { JobOutcome } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { leaseMs } from "../judge-delivery.js";

interface SendNextAlertDeps {
  pool: pg.Pool;
  limits: MailLimits;
  log: Logger;
  /** Sends the mail of a claimed alert. */
  send(alert: AlertKey): Promise<JobOutcome>;
  countHeld(alerts: number): void;
}

/** If the alert is in other hands, the job runs again no sooner. */
const minWaitMs = 1_000;

/**
 * Does one job of the queue. A job permits one mail, not necessarily its own alert's: accounts take turns, so a thousand mails
 * of one never delay the single mail of another. The queue has a job for each alert, so each alert gets its turn; the sweep
 * replaces lost jobs.
 */
export function createSendNextAlert(deps: SendNextAlertDeps): (alert: AlertKey) => Promise<JobOutcome> {
  const { pool, limits, log, send, countHeld } = deps;
  let last: string | undefined;
  let claiming: Promise<unknown> = Promise.resolve();
  // One after the other: each claim starts after the account of the one before.
  const claimNext = (): Promise<Claim | undefined> => {
    const claim = claiming.then(() => claimAlert(pool, { after: last, limits, leaseMs }));
    claiming = claim.then(
      (it) => {
        last = it?.accountId;
      },
      () => undefined,
    );
    return claim;
  };
  return async (alert) => {
    const claim = await claimNext();
    if (!claim) {
      const waitMs = await findWait(pool, alert);
      return waitMs === undefined ? "done" : { retryAfterMs: Math.max(waitMs, minWaitMs) };
    }
    const { accountId, alertId, held } = claim;
    if (claim.verdict === "send") return send({ accountId, alertId });
    countHeld(held);
    log.info({ accountId, alerts: held }, "alerts above the limit wait for a summary");
    return "done";
  };
}
