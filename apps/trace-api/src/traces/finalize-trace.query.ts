import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { type CreateGroupCommit, rowIsLocked } from "@waymark/database";
import { type Columns, columnArrays, type FinalTrace, setStatusChangeSql, unnestSql } from "@waymark/traces";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";

/** A change of a trace, with the id for its alert. */
export interface TraceToFinalize {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  change: FinalTrace;
  /** The id of its alert, where the new status and the plan allow one; otherwise null. */
  alertId: string | null;
}

const columns: Columns<TraceToFinalize> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  id: { type: "uuid", of: ({ traceId }) => traceId },
  status: { type: "text", of: ({ change }) => change.status },
  sets_ended_at: { type: "boolean", of: ({ change }) => change.ended_at !== undefined },
  ended_at: { type: "timestamptz", of: ({ change }) => change.ended_at },
  alert_id: { type: "uuid", of: ({ alertId }) => alertId },
};

/** Whether the account has the trace, and whether the change inserted the alert with the given id. */
export interface FinalizeResult {
  found: boolean;
  isAlertNew: boolean;
}

/**
 * Sets the fields of each body and inserts the alerts of the changed traces, all or nothing. Each trace comes once in a
 * statement and sees the change before. The statement locks the rows first, and `skip` reports rows in another transaction's
 * hands. Two probes of `trace_pkey` for a trace.
 */
const finalizeTracesSql = (onLock: OnLock) => `
  WITH asked AS MATERIALIZED (
    SELECT * FROM ${unnestSql(1, columns)}
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id FROM asked c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    FOR NO KEY UPDATE OF t ${skipLockedSql(onLock)}
  ), finalized AS (
    UPDATE trace t SET
      status = COALESCE(c.status, t.status),
      ${setStatusChangeSql},
      ended_at = CASE WHEN c.sets_ended_at THEN c.ended_at ELSE t.ended_at END,
      ${setAlertIdSql},
      written_at = now()
    FROM asked c JOIN locked USING (account_id, id)
    WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING ${returnAlertIdSql}
  ), ${insertAlertsSql("finalized")}
  SELECT c.account_id, c.id, CASE WHEN f.id IS NOT NULL THEN a.id IS NOT NULL END AS is_alert_new,
    CASE WHEN f.id IS NULL THEN
      EXISTS (SELECT FROM trace t WHERE t.account_id = c.account_id AND t.id = c.id) END AS is_locked
  FROM asked c LEFT JOIN finalized f USING (account_id, id)
  LEFT JOIN new_alerts a ON a.account_id = f.account_id AND a.id = f.alert_id`;

const finalizeUnlocked = { name: "finalize-traces", text: finalizeTracesSql("skip") };
const finalizeLocked = { name: "finalize-locked-traces", text: finalizeTracesSql("wait") };

/** Changes traces of accounts. */
export function createFinalizer({ pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit }) {
  return createGroupCommit<TraceToFinalize, FinalizeResult>({
    name: "finalize-trace",
    run: (changes) => finalizeTraces(pool, finalizeUnlocked, changes),
    // A deletion may finish while the statement waits for its lock; the trace is then unknown.
    runLocked: async (changes) =>
      (await finalizeTraces(pool, finalizeLocked, changes)).map((result) =>
        result === rowIsLocked ? notFound : result,
      ),
    targetOf: ({ accountId, traceId }) => accountId + traceId,
  });
}

const notFound: FinalizeResult = { found: false, isAlertNew: false };

async function finalizeTraces(
  pool: pg.Pool,
  statement: { name: string; text: string },
  changes: readonly TraceToFinalize[],
): Promise<(FinalizeResult | typeof rowIsLocked)[]> {
  // In one order everywhere, so statements of several instances lock the same rows one after the other.
  const sorted = changes.toSorted((a, b) => (a.accountId + a.traceId < b.accountId + b.traceId ? -1 : 1));
  const { rows } = await pool.query<[string, string, boolean | null, boolean | null]>({
    ...statement,
    rowMode: "array",
    values: columnArrays(sorted, columns),
  });
  const results = new Map<string, FinalizeResult | typeof rowIsLocked>();
  for (const [accountId, traceId, isAlertNew, isLocked] of rows) {
    results.set(
      accountId + traceId,
      isAlertNew === null ? (isLocked ? rowIsLocked : notFound) : { found: true, isAlertNew },
    );
  }
  return changes.map(({ accountId, traceId }) => results.get(accountId + traceId) ?? notFound);
}
