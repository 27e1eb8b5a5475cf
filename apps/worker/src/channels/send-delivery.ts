import {
  type Attempt,
  type DeliveryKey,
  deliveryIdOf,
  endChannel,
  type OwedDelivery,
  readOwedDelivery,
  settleDelivery,
} from "@waymark/alerts";
import type { Mailer } from "@waymark/alerts/mail";
import type pg from "pg";
import type { Logger } from "pino";
import { neverSent } from "../judge-delivery.js";
import { composeMessage } from "./compose-message.js";
import { judgePost, tryLater } from "./judge-post.js";
import { asDiscord, asMail, asSlack } from "./message-formats.js";
import type { PostAnswer, PostRequest } from "./post.js";
import { signWebhook } from "./sign-webhook.js";
import { webhookBody } from "./webhook-body.js";

export interface SendDeliveryDeps {
  pool: pg.Pool;
  mailer: Mailer;
  log: Logger;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
  post(request: PostRequest): Promise<PostAnswer>;
  /** Counts each attempt. */
  count(outcome: "sent" | "deferred" | "failed"): void;
}

type Channel = NonNullable<OwedDelivery["channel"]>;

/**
 * Makes one attempt at a delivery and notes the result in its row. Safe to repeat: its id goes along, as `webhook-id` or as the
 * mail's idempotency key. The caller has claimed it.
 */
export function createSendDelivery(deps: SendDeliveryDeps): (key: DeliveryKey) => Promise<void> {
  const { pool, log, count } = deps;
  return async (key) => {
    const owed = await readOwedDelivery(pool, key);
    if (!owed) return;
    const { isGone, ...attempt } = await attemptSafely(deps, key, owed);
    await settleDelivery(pool, key, attempt);
    const { state, reason, retryAfterMs } = attempt;
    if (isGone) await endChannel(pool, key, `The channel has ended: ${reason}`);
    count(state === "pending" ? "deferred" : state);
    const facts = { ...key, type: owed.type, kind: owed.channel?.kind, attempts: owed.attempts + 1 };
    if (state === "sent") log.info(facts, "event delivered");
    else if (state === "failed") log.warn({ ...facts, reason }, "event not delivered, given up");
    else log.info({ ...facts, reason, retryAfterMs }, "event not delivered yet");
  };
}

type Judged = Attempt & { isGone: boolean };

/** A message that throws counts as an attempt: the pauses and the end are those of a failed answer. */
async function attemptSafely(deps: SendDeliveryDeps, key: DeliveryKey, owed: OwedDelivery): Promise<Judged> {
  try {
    return await attemptAt(deps, key, owed);
  } catch (err) {
    deps.log.error({ err, ...key }, "an attempt at a delivery failed unexpectedly");
    return { ...tryLater("The attempt failed unexpectedly; the worker's log says why", owed), isGone: false };
  }
}

async function attemptAt(deps: SendDeliveryDeps, key: DeliveryKey, owed: OwedDelivery): Promise<Judged> {
  const { channel } = owed;
  if (!channel) return { ...neverSent("The channel is gone"), isGone: false };
  const message = composeMessage(owed, deps.dashboardUrl);
  if (!message) return { ...neverSent("The trace is gone"), isGone: false };
  if (channel.kind === "mail")
    return { ...(await mail(deps, key, { owed, channel, content: asMail(message) })), isGone: false };
  const bodies = { slack: asSlack, discord: asDiscord };
  const body = channel.kind === "webhook" ? webhookBody(owed, deps.dashboardUrl) : bodies[channel.kind](message);
  const answer = await deps.post({ url: channel.to, headers: headersOf(channel, key, body), body });
  return judgePost(answer, owed);
}

function headersOf({ secret }: Channel, key: DeliveryKey, body: string): Record<string, string> {
  const headers = { "content-type": "application/json" };
  if (secret === null) return headers;
  const timestamp = Math.floor(Date.now() / 1_000);
  return { ...headers, ...signWebhook({ secret, id: deliveryIdOf(key), timestamp, body }) };
}

interface ToMail {
  owed: OwedDelivery;
  channel: Channel;
  content: { subject: string; text: string; html: string };
}

async function mail(deps: SendDeliveryDeps, key: DeliveryKey, { owed, channel, content }: ToMail): Promise<Attempt> {
  const sent = await deps.mailer.send({ ...content, to: channel.to, idempotencyKey: deliveryIdOf(key) });
  if (sent.outcome === "sent") return { state: "sent", reason: null, counts: true, retryAfterMs: 0 };
  if (sent.outcome === "refused") return { state: "failed", reason: sent.reason, counts: true, retryAfterMs: 0 };
  if (sent.outcome === "rate-limited") {
    return { state: "pending", reason: sent.reason, counts: false, retryAfterMs: sent.retryAfterMs };
  }
  return tryLater(sent.reason, owed, sent.retryAfterMs);
}
