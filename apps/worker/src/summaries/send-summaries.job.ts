import {
  claimSummary,
  findReadyAccounts,
  type MailLimits,
  makeSummary,
  readSummary,
  type SummaryKey,
  settleSummary,
} from "@waymark/alerts";
import type { Mailer } from "@waymark/alerts/mail";
import { asMail, composeSummary, judgeMail, leaseMs, neverSent } from "@waymark/alerts/sending";
import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";

interface SummaryDeps {
  pool: pg.Pool;
  mailer: Mailer;
  log: Logger;
  limits: MailLimits;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
  /** Counts each attempt. */
  count(outcome: "sent" | "deferred" | "failed"): void;
  /** Asked between mails. */
  isStopping(): boolean;
}

/** Summaries to make, and to send, in one round at most. */
const maxPerRound = 200;

/**
 * Makes and sends summaries of the alerts above the limits: one an hour for an account at most, once the limit of an alert
 * is open again. The summary's id is the mail's idempotency key, so a repeated attempt never becomes a second mail.
 */
export function createSendSummaries(deps: SummaryDeps): () => Promise<{ sent: number }> {
  const { pool, log, isStopping } = deps;
  const uuid = createUuidV7();
  return async () => {
    for (const accountId of await findReadyAccounts(pool, maxPerRound)) {
      if (isStopping()) return { sent: 0 };
      try {
        await makeSummary(pool, { accountId, summaryId: uuid() });
      } catch (err) {
        log.error({ err, accountId }, "a summary could not be made; the others go on, and the next round tries again");
      }
    }
    let sent = 0;
    for (let i = 0; i < maxPerRound && !isStopping(); i++) {
      const summary = await claimSummary(pool, leaseMs);
      if (!summary) break;
      if (await sendSummary(deps, summary)) sent++;
    }
    return { sent };
  };
}

/** Sends one summary; whether it was sent. */
async function sendSummary(deps: SummaryDeps, key: SummaryKey): Promise<boolean> {
  const { pool, mailer, log, limits, dashboardUrl, count } = deps;
  const content = await readSummary(pool, key);
  if (!content) return false;
  const { email, attempts, ...summary } = content;
  if (email === null || summary.traces === 0) {
    const reason = email === null ? "The account is gone" : "The trace is gone";
    await settleSummary(pool, key, neverSent(reason));
    log.info({ ...key, reason }, "no summary: its account or all of its traces are gone");
    return false;
  }
  const mail = asMail(composeSummary({ summary, limits, dashboardUrl }));
  const delivery = await mailer.send({ ...mail, to: email, idempotencyKey: key.summaryId });
  const attempt = judgeMail(delivery, { attempts });
  await settleSummary(pool, key, attempt);
  const { state, reason } = attempt;
  const facts = { ...key, traces: summary.traces, failures: summary.failures };
  count(state === "pending" ? "deferred" : state);
  if (state === "sent") log.info(facts, "summary sent");
  else if (state === "failed") log.error({ ...facts, reason }, "summary given up");
  else log.warn({ ...facts, reason }, "summary not sent yet");
  return state === "sent";
}
