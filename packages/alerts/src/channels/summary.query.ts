import type pg from "pg";

interface SummaryKey {
  accountId: string;
  eventId: string;
}

export interface SummaryContent {
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

const isHeldSql = "sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL";

// Gives a summary the account's first held alerts; it collects no more. Skips rows in other hands. A range of `alert_held_idx`.
const takeSql = `
  UPDATE alert SET summary_id = $2 WHERE account_id = $1 AND id = ANY (ARRAY(
    SELECT id FROM alert WHERE account_id = $1 AND ${isHeldSql} ORDER BY held_until LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED))`;
const endCollectingSql = `
  UPDATE delivery SET is_collecting = false, failures = $3 WHERE account_id = $1 AND event_id = $2 AND channel_id = $1`;

// A summary whose alerts were sent by themselves or deleted. A probe of `delivery_pkey`.
const dropEmptySql = "DELETE FROM delivery WHERE account_id = $1 AND event_id = $2 AND channel_id = $1";

// The next summary for the alerts that are left; an hour later when it is claimed. A probe of `alert_held_idx`.
const continueSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, due_at, is_collecting)
  SELECT $1, $2, $1, 'digest', '', now() + interval '1 second', true
  WHERE EXISTS (SELECT FROM alert WHERE account_id = $1 AND ${isHeldSql})`;

/** Gives a summary that begins its alerts, and those beyond to the next one. Returns their number; without any it is gone. */
export async function takeHeldAlerts(client: pg.ClientBase, key: SummaryKey, nextId: string): Promise<number> {
  const { accountId, eventId } = key;
  const { rowCount } = await client.query(takeSql, [accountId, eventId, maxAlertsOfSummary]);
  const taken = rowCount ?? 0;
  if (taken > 0) await client.query(endCollectingSql, [accountId, eventId, taken]);
  else await client.query(dropEmptySql, [accountId, eventId]);
  await client.query(continueSql, [accountId, nextId]);
  return taken;
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
  SELECT count(*)::int AS traces, sum(failures)::int AS failures, min(first) AS first, max(last) AS last,
    ARRAY(SELECT json_build_object('agentId', agent_id, 'traces', traces, 'failures', failures)::text FROM agents) AS agents,
    ARRAY(SELECT json_build_object('traceId', id, 'name', name, 'agentId', agent_id, 'status', status,
      'failures', failures)::text FROM newest) AS newest
  FROM traces HAVING count(*) > 0`;

/** The summary's content; undefined where all of its traces are gone. */
export async function readSummary(pool: pg.Pool, summary: SummaryKey): Promise<SummaryContent | undefined> {
  const { rows } = await pool.query(readSummarySql, [summary.accountId, summary.eventId]);
  const [row] = rows;
  if (!row) return undefined;
  const parse = (texts: string[]) => texts.map((text) => JSON.parse(text));
  return { ...row, agents: parse(row.agents), newest: parse(row.newest) };
}
