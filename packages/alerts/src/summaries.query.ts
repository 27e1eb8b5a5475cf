import type pg from "pg";
import { type Attempt, attemptValues, noteAttemptSql } from "./attempt.js";

export interface SummaryKey {
  accountId: string;
  summaryId: string;
}

export interface SummaryContent {
  email: string | null;
  attempts: number;
  traces: number;
  failures: number;
  first: Date;
  last: Date;
  agents: { agentId: string; traces: number; failures: number }[];
  newest: { traceId: string; name: string; agentId: string; status: string; failures: number }[];
}

/** Agents and traces to name in a summary at most. */
const maxListed = 20;

/** Alerts of one summary at most, so that each of its statements takes a second at most; the next summary continues. */
const maxAlertsOfSummary = 20_000;

// Accounts with a held alert whose limit is open again and no summary of the last hour. Reads all of `alert_held_idx`, only
// alerts without a summary, and a range of `alert_summary_pkey` for each account.
const findReadySql = `
  SELECT account_id FROM (
    SELECT account_id FROM alert
    WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL
    GROUP BY account_id HAVING min(held_until) <= now()
  ) AS ready
  WHERE NOT EXISTS (
    SELECT FROM alert_summary s WHERE s.account_id = ready.account_id AND s.created_at > now() - interval '1 hour'
  )
  LIMIT $1`;

export async function findReadyAccounts(pool: pg.Pool, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ account_id: string }>(findReadySql, [limit]);
  return rows.map((row) => row.account_id);
}

// Makes a summary of an account's $3 first held alerts. Other workers skip locked rows, and an hour has one summary. Later
// failures get new alerts, so its text stays. Ranges of `alert_held_idx` and `alert_summary_pkey`.
const makeSummarySql = `
  WITH taken AS (
    UPDATE alert SET summary_id = $2 WHERE account_id = $1 AND id = ANY (ARRAY(
      SELECT id FROM alert
      WHERE account_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL
        AND NOT EXISTS (SELECT FROM alert_summary WHERE account_id = $1 AND created_at > now() - interval '1 hour')
      ORDER BY held_until LIMIT $3
      FOR NO KEY UPDATE SKIP LOCKED
    ))
    RETURNING id
  )
  INSERT INTO alert_summary (account_id, id) SELECT $1, $2 WHERE EXISTS (SELECT FROM taken)`;

export async function makeSummary(pool: pg.Pool, { accountId, summaryId }: SummaryKey): Promise<void> {
  await pool.query(makeSummarySql, [accountId, summaryId, maxAlertsOfSummary]);
}

const claimSummarySql = `
  UPDATE alert_summary SET due_at = now() + $1 * interval '1 millisecond' WHERE (account_id, id) = (
    SELECT account_id, id FROM alert_summary
    WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now()
    ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  )
  RETURNING account_id AS "accountId", id AS "summaryId"`;

/** Claims the longest due summary, if any; other workers leave it alone for `leaseMs`. Along `alert_summary_owed_idx`. */
export async function claimSummary(pool: pg.Pool, leaseMs: number): Promise<SummaryKey | undefined> {
  const { rows } = await pool.query<SummaryKey>(claimSummarySql, [leaseMs]);
  return rows[0];
}

// The content of a pending summary: traces by agent, most first, and the newest traces, each list as JSON texts. Leaves out
// deleted traces. The summary's alerts are a range of `alert_summary_id_idx`, each trace a probe of `trace_pkey`.
const readSummarySql = `
  WITH traces AS (
    SELECT t.id, t.name, t.agent_id, sum(a.failures)::int AS failures, min(a.created_at) AS first, max(a.created_at) AS last,
      (array_agg(a.status ORDER BY a.id DESC))[1] AS status
    FROM alert a JOIN trace t ON t.account_id = a.account_id AND t.id = a.trace_id
    WHERE a.account_id = $1 AND a.summary_id = $2 AND a.sent_at IS NULL AND a.failed_at IS NULL
    GROUP BY t.id, t.name, t.agent_id
  ), agents AS (
    SELECT agent_id, count(*)::int AS traces, sum(failures)::int AS failures FROM traces
    GROUP BY agent_id ORDER BY traces DESC, agent_id LIMIT ${maxListed}
  ), newest AS (
    SELECT id, left(name, 1000) AS name, agent_id, status, failures FROM traces ORDER BY last DESC, id DESC LIMIT ${maxListed}
  )
  SELECT account.email, s.attempts,
    (SELECT count(*)::int FROM traces) AS traces,
    (SELECT COALESCE(sum(failures), 0)::int FROM traces) AS failures,
    (SELECT COALESCE(min(first), now()) FROM traces) AS first,
    (SELECT COALESCE(max(last), now()) FROM traces) AS last,
    ARRAY(SELECT json_build_object('agentId', agent_id, 'traces', traces, 'failures', failures)::text FROM agents) AS agents,
    ARRAY(SELECT json_build_object('traceId', id, 'name', name, 'agentId', agent_id, 'status', status,
      'failures', failures)::text FROM newest) AS newest
  FROM alert_summary s LEFT JOIN account ON account.id = s.account_id
  WHERE s.account_id = $1 AND s.id = $2 AND s.sent_at IS NULL AND s.failed_at IS NULL`;

/** The summary's content; undefined if it is settled or gone. */
export async function readSummary(pool: pg.Pool, summary: SummaryKey): Promise<SummaryContent | undefined> {
  const { rows } = await pool.query(readSummarySql, [summary.accountId, summary.summaryId]);
  const [row] = rows;
  if (!row) return undefined;
  const parse = (texts: string[]) => texts.map((text) => JSON.parse(text));
  return { ...row, agents: parse(row.agents), newest: parse(row.newest) };
}

// Writes down an attempt at a summary; if it was sent or failed for good, so were its alerts, all or nothing. A probe of
// `alert_summary_pkey` and a range of `alert_summary_id_idx`.
const settleSummarySql = `
  WITH settled AS (
    UPDATE alert_summary SET ${noteAttemptSql}
    WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL
    RETURNING sent_at, failed_at, attempts
  )
  UPDATE alert SET sent_at = settled.sent_at, failed_at = settled.failed_at, attempts = settled.attempts, last_error = $4
  FROM settled
  WHERE account_id = $1 AND summary_id = $2 AND alert.sent_at IS NULL AND alert.failed_at IS NULL
    AND (settled.sent_at IS NOT NULL OR settled.failed_at IS NOT NULL)`;

export async function settleSummary(pool: pg.Pool, summary: SummaryKey, attempt: Attempt): Promise<void> {
  await pool.query(settleSummarySql, [summary.accountId, summary.summaryId, ...attemptValues(attempt)]);
}
