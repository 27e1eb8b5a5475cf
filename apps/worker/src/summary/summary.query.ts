import type pg from "pg";
import { type Attempt, leaseMs } from "../failure-mail/attempt.js";
import { attemptValues, noteAttemptSql } from "../failure-mail/settle-alert.query.js";

/** A summary that is owed. */
export interface Summary {
  accountId: string;
  summaryId: string;
}

/** What a summary tells. */
export interface SummaryContent {
  /** Null where the account is gone. */
  email: string | null;
  attempts: number;
  /** Runs that are still there, and how often they failed. */
  runs: number;
  failures: number;
  first: Date;
  last: Date;
  agents: { agentId: string; runs: number; failures: number }[];
  newest: { traceId: string; name: string; agentId: string; status: string; failures: number }[];
}

/** Agents and runs that a summary names. */
export const maxListed = 20;

/** Summaries that one round makes, and sends, at most. */
export const maxPerRound = 200;

/** Alerts that a summary tells of at most, so that each of its statements takes a second; the account's next one goes on. */
const maxTold = 20_000;

/**
 * Accounts with an alert whose limit has opened again and without a summary in the last hour. All of `alert_held_idx`, which
 * holds what waits for a summary, and a range of `alert_summary_pkey` for an account.
 */
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

/** Accounts whose summary is due. */
export async function findReadyAccounts(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ account_id: string }>(findReadySql, [maxPerRound]);
  return rows.map((row) => row.account_id);
}

/**
 * Makes a summary of what waits for one, what was held first and $3 alerts at most. Of two workers at once one finds nothing
 * left: it skips what the other has locked, and makes no second summary within the hour. From now on failures are counted in
 * new alerts, so that the summary's text stays what it is. A range of `alert_held_idx` and one of `alert_summary_pkey`.
 */
const makeSummarySql = `
  WITH told AS (
    UPDATE alert SET summary_id = $2 FROM (
      SELECT id FROM alert
      WHERE account_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL
        AND NOT EXISTS (SELECT FROM alert_summary WHERE account_id = $1 AND created_at > now() - interval '1 hour')
      ORDER BY held_until LIMIT $3
      FOR NO KEY UPDATE SKIP LOCKED
    ) AS waiting
    WHERE alert.account_id = $1 AND alert.id = waiting.id
    RETURNING alert.id
  )
  INSERT INTO alert_summary (account_id, id) SELECT $1, $2 WHERE EXISTS (SELECT FROM told)`;

/** Makes the account's summary, if anything waits for one. */
export async function makeSummary(pool: pg.Pool, { accountId, summaryId }: Summary): Promise<void> {
  await pool.query(makeSummarySql, [accountId, summaryId, maxTold]);
}

/** The summary that is due longest, kept from other workers for the time of an attempt. Along `alert_summary_owed_idx`. */
const claimSummarySql = `
  UPDATE alert_summary SET due_at = now() + $1 * interval '1 millisecond' FROM (
    SELECT account_id, id FROM alert_summary
    WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now()
    ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  ) AS due
  WHERE alert_summary.account_id = due.account_id AND alert_summary.id = due.id
  RETURNING due.account_id AS "accountId", due.id AS "summaryId"`;

/** The summary whose turn it is, undefined where none is due. */
export async function claimSummary(pool: pg.Pool): Promise<Summary | undefined> {
  const { rows } = await pool.query<Summary>(claimSummarySql, [leaseMs]);
  return rows[0];
}

/**
 * What a summary tells, as one JSON text for each list: runs by agent, the most first, and the newest runs. Runs that were
 * deleted meanwhile are left out. The summary's alerts are a range of `alert_summary_id_idx`, each trace a probe of
 * `trace_pkey`; the rest are probes of primary keys.
 */
const readSummarySql = `
  WITH runs AS (
    SELECT t.id, t.name, t.agent_id, sum(a.failures)::int AS failures, min(a.created_at) AS first, max(a.created_at) AS last,
      (array_agg(a.status ORDER BY a.id DESC))[1] AS status
    FROM alert a JOIN trace t ON t.account_id = a.account_id AND t.id = a.trace_id
    WHERE a.account_id = $1 AND a.summary_id = $2 AND a.sent_at IS NULL AND a.failed_at IS NULL
    GROUP BY t.id, t.name, t.agent_id
  ), agents AS (
    SELECT agent_id, count(*)::int AS runs, sum(failures)::int AS failures FROM runs
    GROUP BY agent_id ORDER BY runs DESC, agent_id LIMIT ${maxListed}
  ), newest AS (
    SELECT id, left(name, 1000) AS name, agent_id, status, failures FROM runs ORDER BY last DESC, id DESC LIMIT ${maxListed}
  )
  SELECT account.email, s.attempts,
    (SELECT count(*)::int FROM runs) AS runs,
    (SELECT COALESCE(sum(failures), 0)::int FROM runs) AS failures,
    (SELECT COALESCE(min(first), now()) FROM runs) AS first,
    (SELECT COALESCE(max(last), now()) FROM runs) AS last,
    ARRAY(SELECT json_build_object('agentId', agent_id, 'runs', runs, 'failures', failures)::text FROM agents) AS agents,
    ARRAY(SELECT json_build_object('traceId', id, 'name', name, 'agentId', agent_id, 'status', status,
      'failures', failures)::text FROM newest) AS newest
  FROM alert_summary s LEFT JOIN account ON account.id = s.account_id
  WHERE s.account_id = $1 AND s.id = $2 AND s.sent_at IS NULL AND s.failed_at IS NULL`;

/** What the summary tells; undefined where it is settled or gone. */
export async function readSummary(pool: pg.Pool, summary: Summary): Promise<SummaryContent | undefined> {
  const { rows } = await pool.query(readSummarySql, [summary.accountId, summary.summaryId]);
  const [row] = rows;
  if (!row) return undefined;
  const parse = (texts: string[]) => texts.map((text) => JSON.parse(text));
  return { ...row, agents: parse(row.agents), newest: parse(row.newest) };
}

/**
 * Writes down an attempt at a summary and what it means for its alerts, all or nothing: they were sent, or failed for good,
 * with it. Probes of `alert_summary_pkey`, a range of `alert_summary_id_idx`.
 */
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

/** Notes how an attempt to send the summary ended. */
export async function settleSummary(pool: pg.Pool, summary: Summary, attempt: Attempt): Promise<void> {
  await pool.query(settleSummarySql, [summary.accountId, summary.summaryId, ...attemptValues(attempt)]);
}
