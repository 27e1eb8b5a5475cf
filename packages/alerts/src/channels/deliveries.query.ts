import { failingSpanSql } from "@waymark/traces";
import type pg from "pg";
import { type Attempt, attemptValues, noteAttemptSql } from "../attempt.js";
import type { ReportContent } from "../reports/report.js";
import { type DeliveryKey, type DeliverySort, deliverySortSql } from "./claim-delivery.query.js";
import type { AgentEvent } from "./enqueue-event.query.js";
import type { DigestContent } from "./routing.js";

export interface OwedTrace {
  id: string;
  agentId: string;
  name: string;
  /** Null where a Date cannot hold it. */
  startedAt: Date | null;
  endedAt: Date | null;
  durationMs: number | null;
  failedSpan: { name: string; error: string | null } | null;
}

export interface OwedDelivery {
  sort: DeliverySort;
  type: "trace.failed" | "trace.recovered" | "alert.rule" | "report" | "test" | "digest" | "confirm";
  createdAt: Date;
  /** Since the first attempt began. */
  ageMs: number;
  attempts: number;
  /** Null where it is gone; without an address where the account is. */
  channel: { kind: string; to: string | null; secret: string | null } | null;
  /** Null in events without a trace, and where it was deleted. */
  trace: OwedTrace | null;
  /** Of a failed trace: the one that was set when the alert came to be. */
  status: string | null;
  /** Of a digest; empty where it covers all agents. */
  agentId: string;
  failures: number;
  content: string | null;
}

interface ConfirmContent {
  token: string;
  account: string;
}

export function contentOf({
  content,
}: Pick<OwedDelivery, "content">): DigestContent & AgentEvent["data"] & ConfirmContent & ReportContent {
  return JSON.parse(content ?? "{}");
}

// A delivery with its channel, address and trace. An account's own channel is a row once it has settings; a mail of its own
// takes trace, status and failures from the alert. Cuts errors, which may be megabytes long. Probes of primary keys, and a
// range of `span_pkey`.
const readOwedSql = `
  WITH owed AS (
    SELECT d.account_id, d.event_id, d.channel_id, d.sort, d.type, d.created_at, d.attempts, d.agent_id, d.content, d.begun_at,
      COALESCE(a.trace_id, d.trace_id) AS trace_id, COALESCE(a.status, d.status) AS status,
      COALESCE(a.failures, d.failures) AS failures
    FROM (SELECT *, ${deliverySortSql} AS sort FROM delivery) AS d
    LEFT JOIN alert a ON d.sort = 'alert' AND a.account_id = d.account_id AND a.id = d.event_id
    WHERE d.account_id = $1 AND d.event_id = $2 AND d.channel_id = $3 AND d.sent_at IS NULL AND d.failed_at IS NULL
  ), ${failingSpanSql("owed")}
  SELECT owed.sort, owed.type, owed.created_at AS "createdAt", owed.attempts, owed.status, COALESCE(owed.agent_id, '') AS "agentId",
    owed.failures, owed.content, extract(epoch FROM now() - owed.begun_at)::float8 * 1000 AS "ageMs",
    COALESCE(channel.kind, CASE WHEN owed.channel_id = owed.account_id AND NOT EXISTS (
      SELECT FROM alert_settings s WHERE s.account_id = owed.account_id) THEN 'mail' END) AS kind,
    COALESCE(channel.address, account.email) AS "to", channel.secret,
    trace.id AS "traceId", trace.agent_id AS "traceAgentId", trace.name AS "traceName",
    extract(epoch FROM trace.started_at)::float8 * 1000 AS "startedMs",
    extract(epoch FROM trace.ended_at)::float8 * 1000 AS "endedMs",
    span.name AS "spanName", left(span.error, 4000) AS "spanError"
  FROM owed
  LEFT JOIN account ON account.id = owed.account_id
  LEFT JOIN trace ON trace.account_id = owed.account_id AND trace.id = owed.trace_id
  LEFT JOIN span ON span.account_id = trace.account_id AND span.trace_id = trace.id AND span.id = (SELECT id FROM innermost)
  LEFT JOIN channel ON channel.account_id = owed.account_id AND channel.id = owed.channel_id`;

interface Row extends Omit<OwedDelivery, "channel" | "trace"> {
  kind: string | null;
  to: string | null;
  secret: string | null;
  traceId: string | null;
  traceAgentId: string;
  traceName: string;
  startedMs: number;
  endedMs: number | null;
  spanName: string | null;
  spanError: string | null;
}

/** The delivery with all that its message needs; undefined if it is settled or gone. */
export async function readOwedDelivery(pool: pg.Pool, key: DeliveryKey): Promise<OwedDelivery | undefined> {
  const values = [key.accountId, key.eventId, key.channelId];
  const { rows } = await pool.query<Row>({ name: "read-owed-delivery", text: readOwedSql, values });
  if (!rows[0]) return undefined;
  const { kind, to, secret, traceId, traceAgentId, traceName, startedMs, endedMs, spanName, spanError, ...owed } =
    rows[0];
  const trace =
    traceId === null
      ? null
      : {
          id: traceId,
          agentId: traceAgentId,
          name: traceName,
          startedAt: toDate(startedMs),
          endedAt: toDate(endedMs),
          durationMs: endedMs === null ? null : endedMs - startedMs,
          failedSpan: spanName === null ? null : { name: spanName, error: spanError },
        };
  return { ...owed, channel: kind === null ? null : { kind, to, secret }, trace };
}

function toDate(ms: number | null): Date | null {
  const date = ms === null ? undefined : new Date(ms);
  return date && !Number.isNaN(date.getTime()) ? date : null;
}

// Writes down an attempt, also in the alert of a mail; a digest of the account's own that is over takes its alerts along. Probes
// of `delivery_pkey` and `alert_pkey`, a range of `alert_summary_id_idx`.
const settleDeliverySql = `
  WITH settled AS (
    UPDATE delivery SET ${noteAttemptSql}
    WHERE account_id = $1 AND event_id = $2 AND channel_id = $7 AND sent_at IS NULL AND failed_at IS NULL
    RETURNING sent_at, failed_at, attempts, due_at, type, ${deliverySortSql} AS sort
  ), mailed AS (
    UPDATE alert SET sent_at = s.sent_at, failed_at = s.failed_at, attempts = s.attempts, last_error = $4, due_at = s.due_at
    FROM settled s
    WHERE account_id = $1 AND id = $2 AND alert.sent_at IS NULL AND alert.failed_at IS NULL AND s.sort = 'alert'
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
