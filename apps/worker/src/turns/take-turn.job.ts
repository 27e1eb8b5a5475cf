import type { JobOutcome, TraceFinalized } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { type Claim, claimAlert, findWait, type MailLimits, smallestId } from "./claim-alert.query.js";

export interface TurnDeps {
  pool: pg.Pool;
  limits: MailLimits;
  log: Logger;
  /** Sends the mail of the alert whose turn it is. */
  send(alert: TraceFinalized): Promise<JobOutcome>;
  /** Told how many mails the limits kept back. */
  countHeld(alerts: number): void;
}

/** An alert that somebody else has in hand is looked at again no sooner. */
const minWaitMs = 1_000;

/**
 * Does one job of the queue. A job permits one mail, not necessarily its own alert's: accounts take turns, so that
 * the thousand mails of one never delay the single mail of another. As many jobs as alerts are queued, so each alert gets its
 * turn; the sweep makes up for a job that was lost.
 */
export function createTakeTurn(deps: TurnDeps): (alert: TraceFinalized) => Promise<JobOutcome> {
  const { pool, limits, log, send, countHeld } = deps;
  let last = smallestId;
  let claiming: Promise<unknown> = Promise.resolve();
  // One after the other, so that each starts after the account that the one before chose.
  const claimNext = (): Promise<Claim | undefined> => {
    const claim = claiming.then(() => claimAlert(pool, { after: last, limits }));
    claiming = claim.then(
      (it) => {
        last = it?.accountId ?? smallestId;
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
    log.info({ accountId, alerts: held }, "failure mails above the limit wait for a summary");
    return "done";
  };
}
