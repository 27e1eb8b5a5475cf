import type pg from "pg";
import type { Logger } from "pino";
import { type Attempt, neverSent, tryLater } from "../attempt.js";
import { type DeliveryKey, deliveryIdOf } from "../channels/claim-delivery.query.js";
import { endChannel, type OwedDelivery, readOwedDelivery, settleDelivery } from "../channels/deliveries.query.js";
import type { Senders } from "../channels/kind.js";
import { findKind } from "../channels/kinds.js";
import { composeMessage } from "./compose-message.js";

interface SendDeliveryDeps extends Senders {
  pool: pg.Pool;
  log: Logger;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
  /** Counts each attempt. */
  count(outcome: "sent" | "deferred" | "failed"): void;
}

/**
 * Makes one attempt at a delivery and notes the result in its row. Safe to repeat: its id goes along, as `webhook-id` or as the
 * mail's idempotency key. The caller has claimed it.
 */
export function createSendDelivery(deps: SendDeliveryDeps): (key: DeliveryKey) => Promise<void> {
  const { pool, log, count } = deps;
  return async (key) => {
    const owed = await readOwedDelivery(pool, key);
    if (!owed) return;
    const attempt = await attemptSafely(deps, key, owed);
    await settleDelivery(pool, key, attempt);
    const { state, reason, retryAfterMs, isGone } = attempt;
    if (isGone) await endChannel(pool, key, `The channel has ended: ${reason}`);
    count(state === "pending" ? "deferred" : state);
    const facts = { ...key, type: owed.type, kind: owed.channel?.kind, attempts: owed.attempts + 1 };
    if (state === "sent") log.info(facts, "event delivered");
    else if (state === "failed") log.warn({ ...facts, reason }, "event not delivered, given up");
    else log.info({ ...facts, reason, retryAfterMs }, "event not delivered yet");
  };
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
  const { channel } = owed;
  const { dashboardUrl } = deps;
  if (!channel) return neverSent("The channel is gone");
  const message = composeMessage(owed, dashboardUrl);
  if (!message) return neverSent("The trace is gone");
  const kind = findKind(channel.kind);
  if (!kind) return tryLater(`This worker knows no channels of the kind ${channel.kind}`, owed);
  const { to, secret } = channel;
  return kind.send({ id: deliveryIdOf(key), to, secret, owed, message, dashboardUrl }, deps);
}
