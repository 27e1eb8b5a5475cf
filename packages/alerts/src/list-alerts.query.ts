import { type TextTimes, textTimes, withTransaction } from "@waymark/database";
import type pg from "pg";

export const alertStates = ["pending", "held", "sent", "failed"] as const;
type AlertState = (typeof alertStates)[number];

interface AlertRow {
  id: string;
  trace_id: string;
  status: string;
  state: AlertState;
  failures: number;
  /** Set if the limits held back its own mail: the summary in its place. */
  summary_id: string | null;
  attempts: number;
  last_error: string | null;
  created_at: Date;
  sent_at: Date | null;
  failed_at: Date | null;
}

export type ListedAlert = TextTimes<AlertRow>;

const states: Readonly<Record<AlertState, string>> = {
  pending: "sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL",
  held: "sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL",
  sent: "sent_at IS NOT NULL",
  failed: "sent_at IS NULL AND failed_at IS NOT NULL",
};

const stateSql = `CASE ${Object.entries(states)
  .map(([state, where]) => `WHEN ${where} THEN '${state}'`)
  .join(" ")} END AS state`;

const columns = `id, trace_id, status,
    ${stateSql},
    failures, summary_id, attempts, last_error, created_at, sent_at, failed_at`;

// An account's alerts, newest first; with $2 only failed ones. A range of `alert_pkey`.
const listSql = `
  SELECT ${columns} FROM alert WHERE account_id = $1 AND (NOT $2 OR failed_at IS NOT NULL) ORDER BY id DESC LIMIT $3`;

export async function listAlerts(
  pool: pg.Pool,
  { accountId, failed, limit }: { accountId: string; failed: boolean; limit: number },
): Promise<ListedAlert[]> {
  const { rows } = await pool.query<AlertRow>(listSql, [accountId, failed, limit]);
  return rows.map(textTimes);
}

const mayRetrySql = "alert.sent_at IS NULL AND (alert.failed_at IS NOT NULL OR summary_id IS NULL)";

// Before the alert's row: the worker locks them in this order. The command line does not know the account, the first column of
// the keys: Postgres 18 skips from account to account, older ones read the whole index; a person can wait.
const removeMailSql = (where: string) => `
  DELETE FROM delivery USING alert
  WHERE ${where} AND ${mayRetrySql}
    AND delivery.account_id = alert.account_id AND event_id = alert.id AND channel_id = alert.account_id`;

// Sets an alert back to its first day, with a new mail; without one as yet the worker's next sweep makes it.
const retrySql = (where: string) => `
  WITH retried AS (
    UPDATE alert SET failed_at = NULL, attempts = 0, due_at = now(), allowed_at = NULL, held_until = NULL,
      summary_id = NULL
    WHERE ${where} AND ${mayRetrySql}
    RETURNING *
  )
  INSERT INTO delivery (account_id, event_id, channel_id, type)
  SELECT account_id, id, account_id, 'trace.failed' FROM retried WHERE routed_at IS NOT NULL
  ON CONFLICT DO NOTHING`;

const findSql = (where: string) => `SELECT ${columns} FROM alert WHERE ${where}`;

/** Makes an alert pending again unless it was sent or a summary on its way lists it. Undefined for a foreign or unknown UUID. */
export function retryAlert(pool: pg.Pool, alertId: string, accountId?: string): Promise<ListedAlert | undefined> {
  const where = `alert.id = $1${accountId === undefined ? "" : " AND alert.account_id = $2"}`;
  const values = accountId === undefined ? [alertId] : [alertId, accountId];
  return withTransaction(pool, async (client) => {
    await client.query(removeMailSql(where), values);
    await client.query(retrySql(where), values);
    const { rows } = await client.query<AlertRow>(findSql(where), values);
    return rows[0] && textTimes(rows[0]);
  });
}

interface AlertsToRead {
  accountId: string;
  state?: AlertState | undefined;
  before?: string | undefined;
  limit: number;
}

/** A range of `alert_pkey`, which retention bounds; each trace is a probe of `trace_pkey`. */
const readPageSql = (where: string) => `
  SELECT a.id, a.status, a.failures, a.attempts, left(a.last_error, 1000) AS reason, a.summary_id IS NOT NULL AS "isInSummary",
    a.created_at AS "createdAt", a.sent_at AS "sentAt", a.failed_at AS "failedAt", a.due_at AS "dueAt",
    a.held_until AS "heldUntil",
    ${stateSql},
    a.trace_id AS "traceId", trace.name, trace.agent_id AS "agentId"
  FROM (
    SELECT * FROM alert WHERE account_id = $1 AND id < $2 AND ${where} ORDER BY id DESC LIMIT $3
  ) AS a
  LEFT JOIN trace ON trace.account_id = $1 AND trace.id = a.trace_id
  ORDER BY a.id DESC`;

interface PageRow {
  id: string;
  status: "error" | "timeout";
  state: AlertState;
  failures: number;
  attempts: number;
  /** Why the last attempt did not send the mail. */
  reason: string | null;
  /** Whether a summary on its way lists it; it cannot be sent again by itself then. */
  isInSummary: boolean;
  createdAt: Date;
  sentAt: Date | null;
  failedAt: Date | null;
  dueAt: Date;
  /** Until when a limit holds its own mail. */
  heldUntil: Date | null;
  traceId: string;
  /** Null where the trace is deleted. */
  name: string | null;
  agentId: string | null;
}

const greatestUuid = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export async function readAlertPage(pool: pg.Pool, { accountId, state, before = greatestUuid, limit }: AlertsToRead) {
  const text = readPageSql(state === undefined ? "true" : states[state]);
  const statement = { name: `read-alert-page ${state ?? ""}`, text, values: [accountId, before, limit + 1] };
  const { rows } = await pool.query<PageRow>(statement);
  const alerts = rows.slice(0, limit).map(({ traceId, name, agentId, ...alert }) => {
    return { ...alert, trace: { id: traceId, name, agentId } };
  });
  return { alerts, hasMore: rows.length > limit };
}
