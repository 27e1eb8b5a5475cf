import { failingSpanSql } from "@waymark/traces";
import type pg from "pg";
import { type Attempt, attemptValues, noteAttemptSql } from "../attempt.js";
import { type OwedTrace, type OwedTraceRow, owedTraceColumnsSql, owedTraceJoinsSql, splitOwed } from "../owed-trace.js";
import type { DeliveryKey } from "./claim-delivery.query.js";
import type { AgentEvent } from "./enqueue-event.query.js";
import type { DigestContent } from "./routing.js";

export interface OwedDelivery {
  type: "trace.failed" | "trace.recovered" | "alert.rule" | "test" | "digest" | "confirm";
  createdAt: Date;
  /** Since the first attempt began. */
  ageMs: number;
  attempts: number;
  /** Null where the channel, or for its own address the account, is gone. */
  channel: { kind: string; to: string; secret: string | null } | null;
  /** Null in events without a trace, and where it was deleted. */
  trace: OwedTrace | null;
  /** Of a failed trace: the one that was set when the alert came to be. */
  status: string | null;
  /** Of a digest; empty where it covers all agents. */
  agentId: string;
  failures: number;
  content: string | null;
}

/** What a mail that confirms a channel carries. */
interface ConfirmContent {
  token: string;
  /** The account's address. */
  account: string;
}

/** What a digest, an event of an agent or a confirmation carries. */
export function contentOf({
  content,
}: Pick<OwedDelivery, "content">): DigestContent & AgentEvent["data"] & ConfirmContent {
  return JSON.parse(content ?? "{}");
}

// A delivery with its channel, address and trace. Probes of `delivery_pkey` and `channel_pkey`.
const readOwedSql = `
  WITH owed AS (
    SELECT * FROM delivery
    WHERE account_id = $1 AND event_id = $2 AND channel_id = $3 AND sent_at IS NULL AND failed_at IS NULL
  ), ${failingSpanSql("owed")}
  SELECT owed.type, owed.created_at AS "createdAt", owed.attempts, owed.status, COALESCE(owed.agent_id, '') AS "agentId",
    owed.failures, owed.content, extract(epoch FROM now() - owed.begun_at)::float8 * 1000 AS "ageMs",
    channel.kind, COALESCE(channel.address, account.email) AS "to", channel.secret, ${owedTraceColumnsSql}
  FROM owed ${owedTraceJoinsSql}
  LEFT JOIN channel ON channel.account_id = owed.account_id AND channel.id = owed.channel_id`;

type Row = Omit<OwedDelivery, "channel" | "trace"> & { kind: string | null; to: string | null; secret: string | null };

/** The delivery with all that its message needs; undefined if it is settled or gone. */
export async function readOwedDelivery(pool: pg.Pool, key: DeliveryKey): Promise<OwedDelivery | undefined> {
  const values = [key.accountId, key.eventId, key.channelId];
  const statement = { name: "read-owed-delivery", text: readOwedSql, values };
  const { rows } = await pool.query<Row & OwedTraceRow>(statement);
  if (!rows[0]) return undefined;
  const { owed, trace } = splitOwed<Row>(rows[0]);
  const { kind, to, secret, ...delivery } = owed;
  return { ...delivery, channel: kind === null || to === null ? null : { kind, to, secret }, trace };
}

// Writes down an attempt. An account's digest takes its alerts along. Probes of `delivery_pkey` and a range of
// `alert_summary_id_idx`.
const settleDeliverySql = `
  WITH settled AS (
    UPDATE delivery SET ${noteAttemptSql}
    WHERE account_id = $1 AND event_id = $2 AND channel_id = $7 AND sent_at IS NULL AND failed_at IS NULL
    RETURNING sent_at, failed_at, attempts, type
  )
  UPDATE alert SET sent_at = settled.sent_at, failed_at = settled.failed_at, attempts = settled.attempts, last_error = $4
  FROM settled
  WHERE account_id = $1 AND summary_id = $2 AND alert.sent_at IS NULL AND alert.failed_at IS NULL AND settled.type = 'digest'
    AND (settled.sent_at IS NOT NULL OR settled.failed_at IS NOT NULL)`;

export async function settleDelivery(pool: pg.Pool, key: DeliveryKey, attempt: Attempt): Promise<void> {
  await pool.query(settleDeliverySql, [key.accountId, key.eventId, ...attemptValues(attempt), key.channelId]);
}

// Ends a channel, and with it what it is owed. A probe of `channel_pkey` and a range of `delivery_owed_idx`.
const endChannelSql = `
  WITH ended AS (
    UPDATE channel SET disabled_at = now(), disabled_reason = $3
    WHERE account_id = $1 AND id = $2 AND disabled_at IS NULL
  )
  UPDATE delivery SET failed_at = now(), last_error = $3, is_collecting = false
  WHERE account_id = $1 AND channel_id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

/** Ends a channel whose receiver is gone for good. Its row stays, and says why. */
export async function endChannel(pool: pg.Pool, key: DeliveryKey, reason: string): Promise<void> {
  await pool.query(endChannelSql, [key.accountId, key.channelId, reason]);
}
