import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/** The account's failures of some ids, in their order: two writers cannot wait for each other. Probes of `failure_pkey`. */
const lockedSql = `locked AS MATERIALIZED (
    SELECT id FROM failure WHERE account_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE
  )`;

/**
 * Resolves failures, or opens them. Clocks of senders may be ahead, so the moment is not before the last of the traces with this
 * group, which are found by one scan of the account's range of `trace_failure_pkey`.
 */
const resolveSql = `
  WITH ${lockedSql}, last AS MATERIALIZED (
    SELECT g.failure_id, max(COALESCE(t.ended_at, t.started_at)) AS at FROM trace_failure g
    JOIN trace t ON t.account_id = $1 AND t.id = g.trace_id AND t.written_at = g.written_at
    WHERE g.account_id = $1 AND g.failure_id = ANY ($2::uuid[]) AND $3 GROUP BY 1
  )
  UPDATE failure f SET resolved_at = CASE WHEN $3 THEN greatest(now(), (SELECT at FROM last WHERE failure_id = f.id)) END
  FROM locked WHERE f.account_id = $1 AND f.id = locked.id RETURNING f.id`;

/** Assigns failures to a person, or to nobody, by `failure_pkey`. */
const assignSql = `
  WITH ${lockedSql}
  UPDATE failure f SET assigned_to = $3 FROM locked WHERE f.account_id = $1 AND f.id = locked.id RETURNING f.id`;

async function update(pool: pg.Pool, sql: string, values: readonly unknown[]): Promise<string[]> {
  return (await pool.query<{ id: string }>(sql, [...values])).rows.map(({ id }) => id);
}

type Ids = readonly string[];

/** Returns the ids of those that the account has. */
export function resolveFailures(pool: pg.Pool, accountId: string, ids: Ids, isResolved = true): Promise<string[]> {
  return update(pool, resolveSql, [accountId, ids, isResolved]);
}

/** Null for nobody. Returns the ids of those that the account has. */
export function assignFailures(pool: pg.Pool, accountId: string, ids: Ids, personId: string | null): Promise<string[]> {
  return update(pool, assignSql, [accountId, ids, personId]);
}

async function requireOne(failureId: string, mark: (ids: Ids) => Promise<string[]>): Promise<void> {
  const done = isUuid(failureId) ? await mark([failureId]) : [];
  if (done.length !== 1) throw new AppError("failure_not_found");
}

/** @throws AppError 404 */
export async function resolveFailure(pool: pg.Pool, accountId: string, failureId = "", isResolved = true) {
  await requireOne(failureId, (ids) => resolveFailures(pool, accountId, ids, isResolved));
}

/** Null for nobody. @throws AppError 404 */
export async function assignFailure(pool: pg.Pool, accountId: string, failureId = "", personId: string | null = null) {
  await requireOne(failureId, (ids) => assignFailures(pool, accountId, ids, personId));
}
