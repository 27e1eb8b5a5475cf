import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { rowIsLocked } from "@waymark/database";
import {
  type Batching,
  type Columns,
  columnArrays,
  type FinalTrace,
  labelNames,
  type OnLock,
  onLockStatements,
  setStatusChangeSql,
  skipLockedSql,
  textOf,
  unnestSql,
} from "@waymark/traces";
import type pg from "pg";

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
  labels: { type: "json", of: ({ change }) => labelsOf(change) },
};

/** The given labels as JSON, and their origins; null without any. */
function labelsOf(change: FinalTrace): string | null {
  const given = labelNames.filter((name) => change[name] !== undefined);
  if (given.length === 0) return null;
  // Two bits for each label, as spans write them: 2 keeps those of spans away.
  const origins = labelNames.reduce((all, name, n) => (given.includes(name) ? all | (2 << (2 * n)) : all), 0);
  const texts = given.map((name) => [name, textOf(change[name]) ?? null]);
  return JSON.stringify({ ...Object.fromEntries(texts), origins });
}

/** Sets the given labels of a trace `t`. */
const setLabelsSql = labelNames
  .map((name) => {
    const value = `c.labels ->> '${name}'`;
    const given = name === "tags" ? `COALESCE((${value})::text[], '{}')` : value;
    return `${name} = CASE WHEN c.labels -> '${name}' IS NOT NULL THEN ${given} ELSE t.${name} END`;
  })
  .join(",\n      ");

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
      ${setLabelsSql},
      label_origins = CASE WHEN c.labels IS NULL THEN t.label_origins
        ELSE (COALESCE(t.label_origins, 0) | (c.labels ->> 'origins')::int)::smallint END,
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

const statements = onLockStatements("finalize-traces", finalizeTracesSql);

/** Changes traces of accounts. */
export function createFinalizer({ pool, createGroupCommit }: Batching) {
  const finalize = async (changes: readonly TraceToFinalize[], onLock: OnLock) => {
    const answers = await changeTraces(pool, statements[onLock], changes, columns);
    return answers.map(([isAlertNew, isLocked]): FinalizeResult | typeof rowIsLocked => {
      if (isAlertNew !== null) return { found: true, isAlertNew };
      // A deletion may finish while the statement waits for its lock; the trace is then unknown.
      return isLocked && onLock === "skip" ? rowIsLocked : { found: false, isAlertNew: false };
    });
  };
  return createGroupCommit<TraceToFinalize, FinalizeResult>({
    name: "finalize-trace",
    run: (changes) => finalize(changes, "skip"),
    runLocked: (changes) => finalize(changes, "wait"),
    targetOf: addressOf,
  });
}

interface TraceAddress {
  accountId: string;
  traceId: string;
}

export const addressOf = ({ accountId, traceId }: TraceAddress) => accountId + traceId;

/**
 * Runs a statement on traces in one order everywhere, so that those of several instances lock the same rows in turn and do not
 * deadlock.
 * @returns whether each alert is new, and whether the row is locked; nulls for an unknown trace
 */
export async function changeTraces<Row extends TraceAddress>(
  pool: pg.Pool,
  statement: { name: string; text: string },
  traces: readonly Row[],
  columns: Columns<Row>,
): Promise<[isAlertNew: boolean | null, isLocked: boolean | null][]> {
  const sorted = traces.toSorted((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1));
  const { rows } = await pool.query<[accountId: string, id: string, boolean | null, boolean | null]>({
    ...statement,
    rowMode: "array",
    values: columnArrays(sorted, columns),
  });
  const answers = new Map(rows.map(([accountId, id, ...answer]) => [accountId + id, answer]));
  return traces.map((trace) => answers.get(addressOf(trace)) ?? [null, null]);
}
