/** Pending alerts of one trace at most; further failures are counted in the newest of them. */
const maxPendingAlerts = 10;

/**
 * The common table expressions that note the mails which a statement owes: `owed_mails`, a row for each alert that was
 * inserted. Where a trace has {@link maxPendingAlerts} that wait for their mail, its newest counts one failure more and no
 * row is added: a client that toggles a status cannot fill the table. A pending alert that the worker has locked is not
 * waited for; the failure then gets a row of its own. For a trace that owes, the last day's range of `alert_trace_idx`: the
 * worker settles alerts within hours, and what it settled long ago is not passed over.
 * @param changed a common table expression with account_id, id, status and alert_id of traces, and whether they owe (`owed`)
 */
export function oweMailsSql(changed: string): string {
  return `
  full_traces AS (
    SELECT t.account_id, t.id AS trace_id, pending.newest
    FROM ${changed} t CROSS JOIN LATERAL (
      SELECT (array_agg(p.id))[1] AS newest FROM (
        SELECT a.id FROM alert a
        WHERE a.account_id = t.account_id AND a.trace_id = t.id AND a.id >= uuid_floor(now() - interval '1 day')
          AND a.sent_at IS NULL AND a.failed_at IS NULL AND a.summary_id IS NULL
        ORDER BY a.id DESC LIMIT ${maxPendingAlerts}
      ) AS p HAVING count(*) = ${maxPendingAlerts}
    ) AS pending
    WHERE t.owed
  ), free_alerts AS (
    SELECT a.account_id, a.id FROM full_traces f
    JOIN alert a ON a.account_id = f.account_id AND a.id = f.newest
    WHERE a.sent_at IS NULL AND a.failed_at IS NULL AND a.summary_id IS NULL
    FOR NO KEY UPDATE OF a SKIP LOCKED
  ), counted AS (
    UPDATE alert a SET failures = a.failures + 1 FROM free_alerts f
    WHERE a.account_id = f.account_id AND a.id = f.id
    RETURNING a.account_id, a.trace_id
  ), owed_mails AS (
    INSERT INTO alert (account_id, id, trace_id, status)
    SELECT t.account_id, t.alert_id, t.id, t.status FROM ${changed} t
    WHERE t.owed
      AND NOT EXISTS (SELECT FROM counted c WHERE c.account_id = t.account_id AND c.trace_id = t.id)
    RETURNING account_id, id
  )`;
}
