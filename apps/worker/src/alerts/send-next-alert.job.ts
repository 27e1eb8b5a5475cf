import { type AlertKey, type Claim, claimAlert, findWait, type MailLimits } from "@waymark/alerts";
import { leaseMs } from "@waymark/alerts/sending";
import type { JobOutcome } from "@waymark/service/queue";
import type pg from "pg";
import type { Logger } from "pino";

interface SendNextAlertDeps {
  pool: pg.Pool;
  limits: MailLimits;
  log: Logger;
  /** Sends the mail of a claimed alert. */
  send(alert: AlertKey): Promise<JobOutcome>;
  countHeld(alerts: number): void;
  isStopping(): boolean;
}

/** If the alert is in other hands, its job runs again no sooner. */
const minWaitMs = 1_000;

/**
 * Does one job of the queue: sends mails until its own alert needs none. They are not necessarily its own alert's: accounts take
 * turns, so a thousand mails of one never delay the single mail of another. The queue has a job for each alert; the sweep
 * replaces lost jobs.
 */
export function createSendNextAlert(deps: SendNextAlertDeps): (alert: AlertKey) => Promise<JobOutcome> {
  const { pool, limits, log, send, countHeld, isStopping } = deps;
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
  const work = async ({ accountId, alertId, verdict, held }: Claim): Promise<JobOutcome> => {
    if (verdict === "send") return send({ accountId, alertId });
    countHeld(held);
    log.info({ accountId, alerts: held }, "alerts above the limit wait for a summary");
    return "done";
  };
  return async (alert) => {
    for (;;) {
      const claim = await claimNext();
      const outcome = claim ? await work(claim) : "done";
      if (claim?.alertId === alert.alertId) return outcome;
      const waitMs = await findWait(pool, alert);
      if (waitMs === undefined) return outcome;
      if (!claim || waitMs > 0 || isStopping()) return { retryAfterMs: Math.max(waitMs, minWaitMs) };
    }
  };
}
