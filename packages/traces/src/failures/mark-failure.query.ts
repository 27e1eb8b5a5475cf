import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/**
 * Resolves a failure, or opens it: a probe of `failure_pkey`. Clocks of senders may be ahead, so the moment is not before the last
 * of the traces with this group, which are found in the account's range of `trace_failure_pkey`.
 */
const resolveSql = `
  UPDATE failure SET resolved_at = CASE WHEN $3 THEN greatest(now(), (
    SELECT max(COALESCE(t.ended_at, t.started_at)) FROM trace_failure g
    JOIN trace t ON t.account_id = $1 AND t.id = g.trace_id AND t.written_at = g.written_at
    WHERE g.account_id = $1 AND g.failure_id = $2
  )) END
  WHERE account_id = $1 AND id = $2`;

/** A probe of `failure_pkey`. */
const assignSql = "UPDATE failure SET assigned_to = $3 WHERE account_id = $1 AND id = $2";

/** @throws AppError 404 */
async function update(pool: pg.Pool, sql: string, [accountId, failureId, value]: [string, string, unknown]) {
  const found = isUuid(failureId) ? (await pool.query(sql, [accountId, failureId, value])).rowCount : 0;
  if (found !== 1) throw new AppError("failure_not_found");
}

/** @throws AppError 404 */
export async function resolveFailure(pool: pg.Pool, accountId: string, failureId = "", isResolved = true) {
  await update(pool, resolveSql, [accountId, failureId, isResolved]);
}

/** Null for nobody. @throws AppError 404 */
export async function assignFailure(pool: pg.Pool, accountId: string, failureId = "", personId: string | null = null) {
  await update(pool, assignSql, [accountId, failureId, personId]);
}
