import type pg from "pg";

export interface ListedAlert {
  id: string;
  trace_id: string;
  status: string;
  state: "pending" | "held" | "sent" | "failed";
  failures: number;
  /** Set if the limits held back its own mail: the summary in its place. */
  summary_id: string | null;
  attempts: number;
  last_error: string | null;
  created_at: string;
  sent_at: string | null;
  failed_at: string | null;
}

interface Row extends Omit<ListedAlert, "created_at" | "sent_at" | "failed_at"> {
  created_at: Date;
  sent_at: Date | null;
  failed_at: Date | null;
}

const columns = `id, trace_id, status,
    CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN failed_at IS NOT NULL THEN 'failed' WHEN held_until IS NOT NULL THEN 'held'
      ELSE 'pending' END AS state,
    failures, summary_id, attempts, last_error, created_at, sent_at, failed_at`;

// An account's alerts, newest first; with $2 only failed ones. A range of `alert_pkey`.
const listSql = `
  SELECT ${columns} FROM alert WHERE account_id = $1 AND (NOT $2 OR failed_at IS NOT NULL) ORDER BY id DESC LIMIT $3`;

export async function listAlerts(
  pool: pg.Pool,
  { accountId, failed, limit }: { accountId: string; failed: boolean; limit: number },
): Promise<ListedAlert[]> {
  const { rows } = await pool.query<Row>(listSql, [accountId, failed, limit]);
  return rows.map(present);
}

// Sets an alert back to its first day for the worker's next sweep. The command line does not know the account, the first
// column of `alert_pkey`: Postgres 18 skips from account to account, older ones read the whole index; a person can wait.
const retrySql = (where: string) => `
  UPDATE alert SET failed_at = NULL, attempts = 0, queued_at = NULL, due_at = now(), allowed_at = NULL, held_until = NULL,
    summary_id = NULL
  WHERE ${where} AND sent_at IS NULL AND (failed_at IS NOT NULL OR summary_id IS NULL)`;

const findSql = (where: string) => `SELECT ${columns} FROM alert WHERE ${where}`;

/** Makes an alert pending again unless it was sent or a summary on its way lists it. Undefined for a foreign or unknown UUID. */
export async function retryAlert(pool: pg.Pool, alertId: string, accountId?: string): Promise<ListedAlert | undefined> {
  const where = accountId === undefined ? "id = $1" : "id = $1 AND account_id = $2";
  const values = accountId === undefined ? [alertId] : [alertId, accountId];
  await pool.query(retrySql(where), values);
  const { rows } = await pool.query<Row>(findSql(where), values);
  return rows[0] && present(rows[0]);
}

function present({ created_at, sent_at, failed_at, ...row }: Row): ListedAlert {
  return {
    ...row,
    created_at: created_at.toISOString(),
    sent_at: sent_at?.toISOString() ?? null,
    failed_at: failed_at?.toISOString() ?? null,
  };
}
