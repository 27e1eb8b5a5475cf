import { planIds, planOf } from "@waymark/plan";
import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";

/** A trace, and a place in the order of all traces. */
export interface RunKey {
  accountId: string;
  traceId: string;
}

/** Running traces read, and at most locked, by one statement. */
const pageRows = 500;

/** Before every trace. */
export const firstKey: RunKey = {
  accountId: "00000000-0000-0000-0000-000000000000",
  traceId: "00000000-0000-0000-0000-000000000000",
};

/** A page of the running traces along `trace_running_idx`, and which of them were not written to for so long. */
const findQuietRunsSql = `
  SELECT account_id, id, written_at < now() - $3 * interval '1 millisecond'
  FROM trace WHERE status = 'running' AND (account_id, id) > ($1::uuid, $2::uuid)
  ORDER BY account_id, id LIMIT $4`;

/**
 * Finds running traces whose own row was last written longer ago than that; their spans may be younger.
 * @param after the page starts after this trace
 * @returns what was found in the page, and its end, undefined where it is the last page
 */
export async function findQuietRuns(
  pool: pg.Pool,
  { after, staleAfterMs }: { after: RunKey; staleAfterMs: number },
): Promise<{ runs: RunKey[]; end: RunKey | undefined }> {
  // Without a name, and so planned each time: a plan kept from when the table was empty would read the whole of it.
  const { rows } = await pool.query<[string, string, boolean]>({
    text: findQuietRunsSql,
    rowMode: "array",
    values: [after.accountId, after.traceId, staleAfterMs, pageRows],
  });
  const keyOf = ([accountId, traceId]: [string, string, boolean]): RunKey => ({ accountId, traceId });
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { runs: rows.filter(([, , isQuiet]) => isQuiet).map(keyOf), end: last && keyOf(last) };
}

/**
 * Sets those of the given traces to `timeout` whose last write, their own or a span's, is too long ago, and in the same
 * transaction notes the mail that this owes, by the rules of a finalization. A trace is judged as it is under its lock; one
 * that somebody has locked is left for a later round. The newest span is one probe of `span_pkey`; only where it is old is
 * the trace's range of that index read, since older spans may have been changed. A run that lives gets that time into its
 * own row, so that its spans are not read again before it could be silent. A span that is stored while the statement runs
 * counts as one that came after the end.
 */
const closeStaleRunsSql = `
  WITH quiet AS (
    SELECT t.account_id, t.id, t.written_at, c.alert_id, now() - $4 * interval '1 millisecond' AS bound
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS c (account_id, id, alert_id)
    JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    WHERE t.status = 'running'
    FOR NO KEY UPDATE OF t SKIP LOCKED
  ), judged AS (
    SELECT q.account_id, q.id, q.alert_id, q.bound, GREATEST(q.written_at, CASE
      WHEN newest.written_at >= q.bound THEN newest.written_at
      ELSE (SELECT max(s.written_at) FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.id)
    END) AS last_write
    FROM quiet q LEFT JOIN LATERAL (
      SELECT s.written_at FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.id ORDER BY s.id DESC LIMIT 1
    ) AS newest ON true
  ), noted AS (
    UPDATE trace t SET written_at = j.last_write FROM judged j
    WHERE j.last_write >= j.bound AND t.account_id = j.account_id AND t.id = j.id
  ), closed AS (
    UPDATE trace t SET
      status = 'timeout',
      ended_at = COALESCE(t.ended_at, GREATEST(t.started_at, j.last_write)),
      alert_id = CASE
        WHEN EXISTS (SELECT FROM account a WHERE a.id = j.account_id AND a.plan = ANY ($5::text[])) THEN j.alert_id
      END,
      written_at = now()
    FROM judged j
    WHERE j.last_write < j.bound AND t.account_id = j.account_id AND t.id = j.id
    RETURNING t.account_id, t.id, t.status, t.alert_id
  ), debts AS (
    INSERT INTO alert (account_id, id, trace_id, status)
    SELECT account_id, alert_id, id, status FROM closed WHERE alert_id IS NOT NULL
  )
  SELECT account_id, alert_id FROM closed`;

/** The plans that get failure mails. */
const plansWithMail = planIds.filter((id) => planOf(id).failureMails);

/**
 * Closes those of the traces that are silent indeed.
 * @param staleAfterMs a run whose last write is longer ago is silent
 * @returns how many were closed, and the alerts that are owed now
 */
export async function closeStaleRuns(
  pool: pg.Pool,
  { runs, staleAfterMs, uuid }: { runs: readonly RunKey[]; staleAfterMs: number; uuid: () => string },
): Promise<{ closed: number; alerts: TraceFinalized[] }> {
  const { rows } = await pool.query<[string, string | null]>({
    text: closeStaleRunsSql,
    rowMode: "array",
    values: [
      runs.map(({ accountId }) => accountId),
      runs.map(({ traceId }) => traceId),
      runs.map(uuid),
      staleAfterMs,
      plansWithMail,
    ],
  });
  const alerts = rows.flatMap(([accountId, alertId]) => (alertId === null ? [] : [{ accountId, alertId }]));
  return { closed: rows.length, alerts };
}
