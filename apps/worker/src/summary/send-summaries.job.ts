import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";
import { judgeDelivery, neverSent } from "../failure-mail/attempt.js";
import type { Mailer } from "../failure-mail/mailer.js";
import type { MailLimits } from "../turns/claim-alert.query.js";
import { composeSummary } from "./compose-summary.js";
import {
  claimSummary,
  findReadyAccounts,
  makeSummary,
  maxPerRound,
  readSummary,
  type Summary,
  settleSummary,
} from "./summary.query.js";

export interface SummaryDeps {
  pool: pg.Pool;
  mailer: Mailer;
  log: Logger;
  limits: MailLimits;
  /** Where the dashboard is, without a slash at the end. */
  dashboardUrl: string;
  /** Told how each attempt ended. */
  count(outcome: "sent" | "deferred" | "failed"): void;
  /** Asked between mails. */
  isStopping(): boolean;
}

/**
 * Makes and sends the mails that tell of failed runs above the limits: for an account one an hour at most, once the limit
 * that kept a mail back has opened again. The summary's id is the mail's idempotency key, so an attempt that is repeated
 * never becomes a second mail.
 */
export function createSendSummaries(deps: SummaryDeps): () => Promise<{ sent: number }> {
  const { pool, log, isStopping } = deps;
  const uuid = createUuidV7();
  return async () => {
    for (const accountId of await findReadyAccounts(pool)) {
      if (isStopping()) return { sent: 0 };
      try {
        await makeSummary(pool, { accountId, summaryId: uuid() });
      } catch (err) {
        log.error({ err, accountId }, "a summary could not be made; the others go on, and the next round tries again");
      }
    }
    let sent = 0;
    for (let i = 0; i < maxPerRound && !isStopping(); i++) {
      const summary = await claimSummary(pool);
      if (!summary) break;
      if ((await sendSummary(deps, summary)) === "sent") sent++;
    }
    return { sent };
  };
}

async function sendSummary(deps: SummaryDeps, summary: Summary): Promise<"sent" | "deferred" | "failed" | undefined> {
  const { pool, mailer, log, limits, dashboardUrl, count } = deps;
  const content = await readSummary(pool, summary);
  if (!content) return undefined;
  const { email, attempts, ...told } = content;
  if (email === null || told.runs === 0) {
    const reason = email === null ? "The account is gone" : "The trace is gone";
    await settleSummary(pool, summary, neverSent(reason));
    log.info({ ...summary, reason }, "no summary of failed runs: what it would tell of is gone");
    return undefined;
  }
  const mail = composeSummary({ summary: told, limits, dashboardUrl });
  const delivery = await mailer.send({ ...mail, to: email, idempotencyKey: summary.summaryId });
  const attempt = judgeDelivery(delivery, attempts);
  await settleSummary(pool, summary, attempt);
  const facts = { ...summary, runs: told.runs, failures: told.failures };
  const outcome = attempt.state === "owed" ? "deferred" : attempt.state;
  count(outcome);
  if (outcome === "sent") log.info(facts, "summary of failed runs sent");
  else if (outcome === "failed") log.error({ ...facts, reason: attempt.reason }, "summary of failed runs given up");
  else log.warn({ ...facts, reason: attempt.reason }, "summary of failed runs not sent yet");
  return outcome;
}
