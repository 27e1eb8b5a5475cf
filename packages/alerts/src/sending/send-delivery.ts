import type pg from "pg";
import type { Logger } from "pino";
import { type Attempt, neverSent, tryLater } from "../attempt.js";
import { type DeliveryKey, type DeliverySort, deliveryIdOf } from "../channels/claim-delivery.query.js";
import {
  contentOf,
  endChannel,
  type OwedDelivery,
  readOwedDelivery,
  settleDelivery,
} from "../channels/deliveries.query.js";
import type { Senders } from "../channels/kind.js";
import { findKind } from "../channels/kinds.js";
import type { MailLimits } from "../channels/own-mail.query.js";
import { readSummary } from "../channels/summary.query.js";
import { composeReport } from "../reports/compose-report.js";
import { composeMessage, type Message } from "./compose-message.js";
import { composeSummary } from "./compose-summary.js";

interface SendDeliveryDeps extends Senders {
  pool: pg.Pool;
  log: Logger;
  dashboardUrl: string;
  /** A summary names them. */
  limits: MailLimits;
  count(sort: DeliverySort, outcome: "sent" | "deferred" | "failed"): void;
}

const names = { alert: "alert mail", summary: "summary", event: "event" } as const satisfies Record<
  DeliverySort,
  string
>;

/** Safe to repeat: its id goes along, as `webhook-id` or as the mail's idempotency key. The caller has claimed it. */
export function createSendDelivery(deps: SendDeliveryDeps): (key: DeliveryKey) => Promise<void> {
  const { pool, count } = deps;
  return async (key) => {
    const owed = await readOwedDelivery(pool, key);
    if (!owed) return;
    const attempt = await attemptSafely(deps, key, owed);
    await settleDelivery(pool, key, attempt);
    const { state, reason, isGone } = attempt;
    if (isGone) await endChannel(pool, key, `The channel has ended: ${reason}`);
    if (wasMade(attempt)) count(owed.sort, state === "pending" ? "deferred" : state);
    report(deps, { key, owed, attempt });
  };
}

/** Not for a trace, a channel or an account that is gone. */
const wasMade = ({ state, counts }: Attempt) => counts || state === "pending";

/** An account's own mail that fails is the operator's matter, another channel's its owner's. */
function report(
  { log }: SendDeliveryDeps,
  { key, owed, attempt }: { key: DeliveryKey; owed: OwedDelivery; attempt: Attempt },
) {
  const { sort, type, channel, attempts } = owed;
  const { state, reason, retryAfterMs } = attempt;
  const [name, isOwn] = [names[sort], sort !== "event"];
  const facts = { ...key, ...(sort === "alert" ? { alertId: key.eventId } : {}), type, kind: channel?.kind };
  if (state === "sent") log.info({ ...facts, attempts: attempts + 1 }, `${name} sent`);
  else if (!wasMade(attempt)) log.info({ ...facts, reason }, `${name} dropped: what it needs is gone`);
  else if (state === "failed")
    log[isOwn ? "error" : "warn"]({ ...facts, attempts: attempts + 1, reason }, `${name} given up`);
  else log[isOwn ? "warn" : "info"]({ ...facts, reason, retryAfterMs }, `${name} not sent yet`);
}

/** A message that throws counts as an attempt: the pauses and the end are those of a failed answer. */
async function attemptSafely(deps: SendDeliveryDeps, key: DeliveryKey, owed: OwedDelivery): Promise<Attempt> {
  try {
    return await attemptAt(deps, key, owed);
  } catch (err) {
    deps.log.error({ err, ...key }, "an attempt at a delivery failed unexpectedly");
    return tryLater("The attempt failed unexpectedly; the worker's log says why", owed);
  }
}

async function attemptAt(deps: SendDeliveryDeps, key: DeliveryKey, owed: OwedDelivery): Promise<Attempt> {
  const { channel, sort } = owed;
  const { dashboardUrl } = deps;
  if (!channel) return neverSent("The channel is gone");
  const { to, secret } = channel;
  if (to === null) return neverSent("The account is gone");
  const message = await compose(deps, key, owed);
  if (!message) return neverSent("The trace is gone");
  const kind = findKind(channel.kind);
  if (!kind) return tryLater(`This worker knows no channels of the kind ${channel.kind}`, owed);
  // The trace contract's mails have the alert's id as key.
  const id = sort === "event" ? deliveryIdOf(key) : key.eventId;
  return kind.send({ id, to, secret, owed, message, dashboardUrl }, deps);
}

async function compose(deps: SendDeliveryDeps, key: DeliveryKey, owed: OwedDelivery): Promise<Message | undefined> {
  if (owed.sort === "summary") return summarize(deps, key);
  return owed.type === "report"
    ? composeReport(contentOf(owed), deps.dashboardUrl)
    : composeMessage(owed, deps.dashboardUrl);
}

async function summarize(deps: SendDeliveryDeps, key: DeliveryKey): Promise<Message | undefined> {
  const summary = await readSummary(deps.pool, key);
  return summary && composeSummary(summary, deps);
}
