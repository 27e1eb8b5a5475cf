import { purgeAlertsSql } from "@waymark/alerts";
import { removeBatchSql, smallestUuid } from "@waymark/database";
import type pg from "pg";

/** Rows of one statement at most: it holds no lock for long, and replicas can follow. */
const batchRows = 1_000;
/** Each statement passes over the entries of those before, until a vacuum; 5,000 spans take 20 ms beside that. */
const spansPerBatch = 5_000;

/** Batches of one table before the next account has its turn. */
const batchesPerVisit = 20;

/** The newest ones of an account that stay, however many its people make. */
const maxEntries = 100_000;
const maxEndedKeys = 1_000;
/** The first 48 bits of $2, milliseconds. */
const timeOfIdSql = "to_timestamp(('x' || left(replace($2::uuid::text, '-', ''), 12))::bit(48)::bigint / 1000.0)";
/** Null, and so below no bound, for a key that never ends. */
const endOfKey = "LEAST(revoked_at, expires_at)";

/** The bound of each table: an id that carries its time, or a time. */
const bounds = {
  trace: "traceId",
  trace_block: "traceId",
  trace_change: "traceId",
  trace_context: "traceId",
  trace_failure: "traceId",
  score: "traceId",
  span: "spanTraceId",
  model_call: "traceId",
  alert: "traceId",
  delivery: "traceId",
  audit: "entryId",
  api_key: "endedBefore",
  failure: "seenBefore",
  model_day: "summedBefore",
} as const;
type Table = keyof typeof bounds;

/**
 * One batch per table, a range of its primary key: the account, then the time in the id; keys along `api_key_account_id_idx`.
 * Traces go first, so nobody finds an incomplete trace. Spans and contexts go by their trace's age; pending alerts, summaries
 * and deliveries stay. Statements on large tables skip rows in other workers' hands.
 */
const purgeSql = {
  trace: removeBatchSql("trace", "WHERE account_id = $1 AND id < $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED"),
  trace_block: removeBatchSql(
    "trace_block",
    `WHERE account_id = $1 AND last_id < $2
      AND NOT EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id > after_id AND t.id <= last_id)
    ORDER BY last_id LIMIT $3`,
  ),
  trace_change: removeBatchSql(
    "trace_change",
    "WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id LIMIT $3 FOR UPDATE SKIP LOCKED",
  ),
  trace_context: removeBatchSql(
    "trace_context",
    "WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id, id LIMIT $3 FOR UPDATE SKIP LOCKED",
  ),
  trace_failure: removeBatchSql(
    "trace_failure",
    "WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id LIMIT $3 FOR UPDATE SKIP LOCKED",
  ),
  // Sums of days that a check compares have all their calls.
  model_call: removeBatchSql(
    "model_call",
    `WHERE account_id = $1 AND trace_id < $2 AND started_at < date_trunc('day', ${timeOfIdSql})
    ORDER BY trace_id, span_id, version LIMIT $3 FOR UPDATE SKIP LOCKED`,
  ),
  model_day: removeBatchSql(
    "model_day",
    "WHERE account_id = $1 AND day < $2::date ORDER BY day, agent_id, provider, model LIMIT $3",
  ),
  score: removeBatchSql(
    "score",
    "WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id, id LIMIT $3 FOR UPDATE SKIP LOCKED",
  ),
  // Partitioned, so a batch is a range of the primary key. A row in other hands is waited for. Without the lower bound the
  // planner expects a part of the table and reads all of it.
  span: `
    WITH batch AS MATERIALIZED (
      SELECT trace_id, id FROM span WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id, id LIMIT $3
    ), last AS MATERIALIZED (SELECT trace_id, id FROM batch ORDER BY trace_id DESC, id DESC LIMIT 1)
    DELETE FROM span
    WHERE account_id = $1 AND trace_id >= (SELECT trace_id FROM batch ORDER BY trace_id LIMIT 1)
      AND trace_id <= (SELECT trace_id FROM last) AND (trace_id, id) <= (SELECT trace_id, id FROM last)`,
  ...purgeAlertsSql,
  audit: removeBatchSql(
    "audit",
    `WHERE account_id = $1 AND id < GREATEST($2, (
      SELECT id FROM audit WHERE account_id = $1 ORDER BY id DESC OFFSET ${maxEntries - 1} LIMIT 1))
    ORDER BY id LIMIT $3`,
  ),
  api_key: removeBatchSql(
    "api_key",
    `WHERE account_id = $1 AND ${endOfKey} < GREATEST($2, (
      SELECT ${endOfKey} FROM api_key WHERE account_id = $1 AND ${endOfKey} <= now()
      ORDER BY ${endOfKey} DESC OFFSET ${maxEndedKeys - 1} LIMIT 1))
    ORDER BY ${endOfKey} LIMIT $3`,
    "id",
  ),
  failure: removeBatchSql(
    "failure",
    `WHERE account_id = $1 AND seen_at < $2
      AND NOT EXISTS (SELECT FROM mute m WHERE m.account_id = $1 AND m.failure_id = failure.id)
    ORDER BY id LIMIT $3`,
  ),
} as const satisfies Record<Table, string>;

/** Removed rows by table. */
export type Purged = Record<Table, number>;

export function nothingPurged(): Purged {
  return {
    failure: 0,
    model_call: 0,
    model_day: 0,
    trace: 0,
    trace_block: 0,
    trace_change: 0,
    trace_context: 0,
    trace_failure: 0,
    score: 0,
    span: 0,
    alert: 0,
    delivery: 0,
    audit: 0,
    api_key: 0,
  };
}

export interface AccountBounds {
  /** Traces and settled alerts with lower ids go. */
  traceId: string;
  /** Spans of traces with lower ids go, one by one. */
  spanTraceId: string;
  /** Entries of the record with lower ids go. */
  entryId: string;
  /** Keys revoked or ended earlier go. */
  endedBefore: Date;
  /** Daily sums of tokens and cost go by their day. */
  summedBefore: Date;
  /** Failures without a mute go that no trace got since. */
  seenBefore: Date;
}

/**
 * Removes an account's rows below the bounds, {@link batchesPerVisit} batches of a table at most.
 * @param total adds up the removed rows
 * @param isStopping asked between batches: a stop does not wait for the rest
 * @returns whether nothing is left
 */
export async function purgeAccount(
  pool: pg.Pool,
  { accountId, isStopping, ...below }: AccountBounds & { accountId: string; isStopping: () => boolean },
  total: Purged,
): Promise<boolean> {
  let isComplete = true;
  for (const table of Object.keys(bounds) as Table[]) {
    const most = table === "span" ? spansPerBatch : batchRows;
    let removed = most;
    for (let batch = 0; removed === most && batch < batchesPerVisit && !isStopping(); batch++) {
      const values = [accountId, below[bounds[table]], most];
      const { rowCount } = await pool.query({ name: `purge-${table}`, text: purgeSql[table], values });
      removed = rowCount ?? 0;
      total[table] += removed;
    }
    if (removed === most) isComplete = false;
  }
  return isComplete;
}

/** Accounts after the given one, in the order of their ids. A range of `account_pkey`. */
const listAccountsSql = "SELECT id, plan FROM account WHERE id > $1 ORDER BY id LIMIT 500";

export interface ListedAccount {
  id: string;
  plan: string;
}

/** All accounts with their plans, in pages, so memory does not grow with their number. */
export async function* listAccounts(pool: pg.Pool): AsyncGenerator<ListedAccount> {
  let after = smallestUuid;
  while (true) {
    const { rows } = await pool.query<ListedAccount>(listAccountsSql, [after]);
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}

/** One batch of the oldest idempotency keys, along `idempotency_key_created_at_idx`. */
const purgeIdempotencyKeysSql = removeBatchSql(
  "idempotency_key",
  "WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED",
);

/** One batch of the oldest deletions of OpenTelemetry traces, along `deleted_otel_trace_deleted_at_idx`. */
const purgeDeletedTracesSql = removeBatchSql(
  "deleted_otel_trace",
  "WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED",
);

/** Forgets the ids of OpenTelemetry traces deleted before the given time; exporters may bring them back from then on. */
export function purgeDeletedTraces(pool: pg.Pool, bounds: PurgeBounds): Promise<number> {
  return purgeBefore(pool, { name: "purge-deleted-traces", text: purgeDeletedTracesSql }, bounds);
}

/** Removes the answers kept for requests with an `Idempotency-Key` before the given time. */
export function purgeIdempotencyKeys(pool: pg.Pool, bounds: PurgeBounds): Promise<number> {
  return purgeBefore(pool, { name: "purge-idempotency-keys", text: purgeIdempotencyKeysSql }, bounds);
}

/** One batch of the sessions that ended first, along `session_expires_at_idx`. */
const purgeSessionsSql = removeBatchSql("session", "WHERE expires_at < $1 ORDER BY expires_at LIMIT $2");

/** Removes sessions that ended before the given time. */
export function purgeSessions(pool: pg.Pool, bounds: PurgeBounds): Promise<number> {
  return purgeBefore(pool, { name: "purge-sessions", text: purgeSessionsSql }, bounds);
}

/** One batch of the links that ended first, along `one_time_link_expires_at_idx`. */
const purgeLinksSql = removeBatchSql("one_time_link", "WHERE expires_at < $1 ORDER BY expires_at LIMIT $2");

/** Removes one-time links, used or not, whose time ended before the given one. */
export function purgeLinks(pool: pg.Pool, bounds: PurgeBounds): Promise<number> {
  return purgeBefore(pool, { name: "purge-links", text: purgeLinksSql }, bounds);
}

/** One batch. Reads the whole table: some rows for each subscription, and only Stripe adds any. */
const purgeStripeEventsSql = removeBatchSql("stripe_event", "WHERE received_at < $1 LIMIT $2");

/** Forgets events of Stripe that were handled before the given time. */
export function purgeStripeEvents(pool: pg.Pool, bounds: PurgeBounds): Promise<number> {
  return purgeBefore(pool, { name: "purge-stripe-events", text: purgeStripeEventsSql }, bounds);
}

interface PurgeBounds {
  before: Date;
  /** Asked between batches. */
  isStopping(): boolean;
}

async function purgeBefore(
  pool: pg.Pool,
  statement: { name: string; text: string },
  { before, isStopping }: PurgeBounds,
): Promise<number> {
  let total = 0;
  let removed = batchRows;
  while (removed === batchRows && !isStopping()) {
    const { rowCount } = await pool.query({ ...statement, values: [before, batchRows] });
    removed = rowCount ?? 0;
    total += removed;
  }
  return total;
}

/** Removes request counters of past minutes. Reads the whole table, one row per active key. */
export async function purgeRateLimits(pool: pg.Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query("DELETE FROM rate_limit WHERE expire < $1", [now.getTime()]);
  return rowCount ?? 0;
}
