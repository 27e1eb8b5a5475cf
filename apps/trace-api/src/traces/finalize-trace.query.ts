import type pg from "pg";
import { type Gather, rowIsLocked } from "../gather.js";
import { oweMailsSql } from "./owe-mails.js";
import type { FinalTrace } from "./trace.schema.js";

/** A change of a trace, and the mail it may owe. */
export interface TraceToFinalize {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  change: FinalTrace;
  /** The id of the alert to owe, where the new status and the plan call for a mail; otherwise null. */
  alertId: string | null;
}

/** Whether the account has the trace, and whether the alert with the given id was made and is owed now. */
export interface FinalizeResult {
  found: boolean;
  owed: boolean;
}

/**
 * Sets what each body gave and, in the same transaction, notes the mail that this owes. `trace.alert_id` is the alert of
 * the trace's present status: the same status again keeps it, so that a retry owes nothing; another status replaces or
 * clears it, so that a later failure owes anew. No trace comes twice in a statement. Rows are locked first: of those that
 * another transaction has, `SKIP LOCKED` changes nothing and tells so, without it they are waited for. Each change sees the
 * one before. Two probes of `trace_pkey` for a trace.
 */
const finalizeTracesSql = (wait: "" | "SKIP LOCKED") => `
  WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::boolean[], $5::timestamptz[], $6::uuid[])
      AS c (account_id, id, status, sets_ended_at, ended_at, alert_id)
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id FROM asked c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    FOR NO KEY UPDATE OF t ${wait}
  ), finalized AS (
    UPDATE trace t SET
      status = COALESCE(c.status, t.status),
      ended_at = CASE WHEN c.sets_ended_at THEN c.ended_at ELSE t.ended_at END,
      alert_id = CASE
        WHEN c.status IS NULL OR (t.status = c.status AND t.alert_id IS NOT NULL) THEN t.alert_id
        ELSE c.alert_id
      END,
      written_at = now()
    FROM asked c JOIN locked USING (account_id, id)
    WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING t.account_id, t.id, t.status, t.alert_id, COALESCE(t.alert_id = c.alert_id, false) AS owed
  ), ${oweMailsSql("finalized")}
  SELECT c.account_id, c.id, CASE WHEN f.id IS NOT NULL THEN m.id IS NOT NULL END AS owed,
    CASE WHEN f.id IS NULL THEN
      EXISTS (SELECT FROM trace t WHERE t.account_id = c.account_id AND t.id = c.id) END AS is_locked
  FROM asked c LEFT JOIN finalized f USING (account_id, id)
  LEFT JOIN owed_mails m ON m.account_id = f.account_id AND m.id = f.alert_id`;

const finalizeUnlocked = { name: "finalize-traces", text: finalizeTracesSql("SKIP LOCKED") };
const finalizeLocked = { name: "finalize-locked-traces", text: finalizeTracesSql("") };

/** Changes traces of accounts. */
export function createFinalizer({ pool, gather }: { pool: pg.Pool; gather: Gather }) {
  return gather<TraceToFinalize, FinalizeResult>({
    name: "finalize-trace",
    run: (changes) => finalizeTraces(pool, finalizeUnlocked, changes),
    // A trace that was deleted while its lock was waited for is not there any more.
    runLocked: async (changes) =>
      (await finalizeTraces(pool, finalizeLocked, changes)).map((result) =>
        result === rowIsLocked ? notFound : result,
      ),
    targetOf: ({ accountId, traceId }) => accountId + traceId,
  });
}

const notFound: FinalizeResult = { found: false, owed: false };

async function finalizeTraces(
  pool: pg.Pool,
  statement: { name: string; text: string },
  changes: readonly TraceToFinalize[],
): Promise<(FinalizeResult | typeof rowIsLocked)[]> {
  // In one order everywhere, so that statements of several instances lock the same rows one after the other.
  const sorted = changes.toSorted((a, b) => (a.accountId + a.traceId < b.accountId + b.traceId ? -1 : 1));
  const { rows } = await pool.query<[string, string, boolean | null, boolean | null]>({
    ...statement,
    rowMode: "array",
    values: [
      sorted.map(({ accountId }) => accountId),
      sorted.map(({ traceId }) => traceId),
      sorted.map(({ change }) => change.status),
      sorted.map(({ change }) => change.ended_at !== undefined),
      sorted.map(({ change }) => change.ended_at),
      sorted.map(({ alertId }) => alertId),
    ],
  });
  const results = new Map<string, FinalizeResult | typeof rowIsLocked>();
  for (const [accountId, traceId, owed, isLocked] of rows) {
    results.set(accountId + traceId, owed === null ? (isLocked ? rowIsLocked : notFound) : { found: true, owed });
  }
  return changes.map(({ accountId, traceId }) => results.get(accountId + traceId) ?? notFound);
}
