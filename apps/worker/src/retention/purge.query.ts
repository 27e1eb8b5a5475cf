import { removeBatchSql, smallestUuid, tryTransaction } from "@waymark/database";
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

const settledSql = "(sent_at IS NOT NULL OR failed_at IS NOT NULL)";

const ofAccount = (table: string, found: string, column?: string) =>
  removeBatchSql(table, `WHERE account_id = $1 AND ${found} LIMIT $3`, column);

/** Skips rows in other workers' hands. */
const unlocked = (table: string, where: string, order: string) =>
  removeBatchSql(table, `WHERE account_id = $1 AND ${where} ORDER BY ${order} LIMIT $3 FOR UPDATE SKIP LOCKED`);

const ofTraces = (table: string, order = "trace_id") => ({
  bound: "traceId" as const,
  sql: unlocked(table, "trace_id < $2", order),
});

/**
 * One batch per table, a range of its primary key: the account, then the time in the id; keys along `api_key_account_id_idx`.
 * Its bound is an id that carries its time, or a time. Traces go first, so nobody finds an incomplete trace. Spans and contexts
 * go by their trace's age; pending alerts, summaries and deliveries stay.
 */
const tables = {
  trace: { bound: "traceId", sql: unlocked("trace", "id < $2", "id") },
  trace_block: {
    bound: "traceId",
    sql: ofAccount(
      "trace_block",
      `last_id < $2
      AND NOT EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id > after_id AND t.id <= last_id)
    ORDER BY last_id`,
    ),
  },
  trace_change: ofTraces("trace_change"),
  trace_context: ofTraces("trace_context", "trace_id, id"),
  trace_failure: ofTraces("trace_failure"),
  trace_visit: { ...ofTraces("trace_visit"), bound: "visitTraceId" },
  score: ofTraces("score", "trace_id, id"),
  // Partitioned, so a batch is a range of the primary key. A row in other hands is waited for. Without the lower bound the
  // planner expects a part of the table and reads all of it.
  span: {
    bound: "spanTraceId",
    sql: `
    WITH batch AS MATERIALIZED (
      SELECT trace_id, id FROM span WHERE account_id = $1 AND trace_id < $2 ORDER BY trace_id, id LIMIT $3
    ), last AS MATERIALIZED (SELECT trace_id, id FROM batch ORDER BY trace_id DESC, id DESC LIMIT 1)
    DELETE FROM span
    WHERE account_id = $1 AND trace_id >= (SELECT trace_id FROM batch ORDER BY trace_id LIMIT 1)
      AND trace_id <= (SELECT trace_id FROM last) AND (trace_id, id) <= (SELECT trace_id, id FROM last)`,
  },
  // Sums of days that a check compares have all their calls.
  model_call: {
    bound: "traceId",
    sql: unlocked(
      "model_call",
      `trace_id < $2 AND started_at < date_trunc('day', ${timeOfIdSql})`,
      "trace_id, span_id, version",
    ),
  },
  alert: { bound: "traceId", sql: unlocked("alert", `id < $2 AND ${settledSql}`, "id") },
  delivery: { bound: "traceId", sql: unlocked("delivery", `event_id < $2 AND ${settledSql}`, "event_id, channel_id") },
  audit: {
    bound: "entryId",
    sql: ofAccount(
      "audit",
      `id < GREATEST($2, (
      SELECT id FROM audit WHERE account_id = $1 ORDER BY id DESC OFFSET ${maxEntries - 1} LIMIT 1))
    ORDER BY id`,
    ),
  },
  api_key: {
    bound: "endedBefore",
    sql: ofAccount(
      "api_key",
      `${endOfKey} < GREATEST($2, (
      SELECT ${endOfKey} FROM api_key WHERE account_id = $1 AND ${endOfKey} <= now()
      ORDER BY ${endOfKey} DESC OFFSET ${maxEndedKeys - 1} LIMIT 1))
    ORDER BY ${endOfKey}`,
      "id",
    ),
  },
  failure: {
    bound: "seenBefore",
    sql: ofAccount(
      "failure",
      `seen_at < $2 AND NOT EXISTS (SELECT FROM mute m WHERE m.account_id = $1 AND m.failure_id = failure.id)
    ORDER BY id`,
    ),
  },
  model_day: {
    bound: "summedBefore",
    sql: ofAccount("model_day", "day < $2::date ORDER BY day, agent_id, provider, model"),
  },
} as const satisfies Record<string, { bound: keyof AccountBounds; sql: string }>;

type Table = keyof typeof tables;
const tableNames = Object.keys(tables) as Table[];

export type Purged = Record<Table, number>;

export function nothingPurged(): Purged {
  return Object.fromEntries(tableNames.map((table) => [table, 0])) as Purged;
}

interface AccountBounds {
  traceId: string;
  /** Hashes of visits go with the salts. */
  visitTraceId: string;
  /** Spans of traces with lower ids go, one by one. */
  spanTraceId: string;
  entryId: string;
  endedBefore: Date;
  /** Daily sums of tokens and cost go by their day. */
  summedBefore: Date;
  /** Failures without a mute go that no trace got since. */
  seenBefore: Date;
}

/** Removes an account's rows below the bounds, {@link batchesPerVisit} batches of a table; whether nothing is left. */
export async function purgeAccount(
  pool: pg.Pool,
  { accountId, isStopping, ...below }: AccountBounds & { accountId: string; isStopping: () => boolean },
  total: Purged,
): Promise<boolean> {
  let isComplete = true;
  for (const table of tableNames) {
    const { bound, sql } = tables[table];
    const most = table === "span" ? spansPerBatch : batchRows;
    let removed = most;
    for (let batch = 0; removed === most && batch < batchesPerVisit && !isStopping(); batch++) {
      const values = [accountId, below[bound], most];
      const { rowCount } = await pool.query({ name: `purge-${table}`, text: sql, values });
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

const dayMs = 24 * 3_600_000;

/** Rows of no account, by their name in the log: one batch of those from before $1, and how long they stay. */
const agedRows = {
  /** Clients may count on a day; the second one allows for wrong clocks and failed rounds. By `idempotency_key_created_at_idx`. */
  idempotencyKeys: {
    keptMs: 2 * dayMs,
    sql: removeBatchSql("idempotency_key", "WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED"),
  },
  /** OpenTelemetry collectors may repeat a batch for a day; the second one is slack again. By `deleted_otel_trace_deleted_at_idx`. */
  deletedTraces: {
    keptMs: 2 * dayMs,
    sql: removeBatchSql(
      "deleted_otel_trace",
      "WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED",
    ),
  },
  /** A record waits so long for its span; one that completed it stays as long, for those that follow. By `span_log_since_idx`. */
  spanLogs: {
    keptMs: dayMs,
    sql: removeBatchSql("span_log", "WHERE since < $1 ORDER BY since LIMIT $2 FOR UPDATE SKIP LOCKED"),
  },
  /** By `session_expires_at_idx`. */
  sessions: { keptMs: 0, sql: removeBatchSql("session", "WHERE expires_at < $1 ORDER BY expires_at LIMIT $2") },
  /** Used or not, by `one_time_link_expires_at_idx`. */
  links: { keptMs: 0, sql: removeBatchSql("one_time_link", "WHERE expires_at < $1 ORDER BY expires_at LIMIT $2") },
  /** Stripe repeats an event for three days. Reads the whole table: some rows for each subscription, and only Stripe adds any. */
  stripeEvents: { keptMs: 30 * dayMs, sql: removeBatchSql("stripe_event", "WHERE received_at < $1 LIMIT $2") },
};

export const agedNames = Object.keys(agedRows) as (keyof typeof agedRows)[];

export async function purgeAged(
  pool: pg.Pool,
  name: keyof typeof agedRows,
  { now, isStopping }: { now: Date; isStopping(): boolean },
): Promise<number> {
  const { keptMs, sql } = agedRows[name];
  const values = [new Date(now.getTime() - keptMs), batchRows];
  let total = 0;
  let removed = batchRows;
  while (removed === batchRows && !isStopping()) {
    const { rowCount } = await pool.query({ name: `purge-aged-${name}`, text: sql, values });
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

/** A change of partitions waits so long for readers and writers, then leaves it to the next round. All spans wait behind it. */
const lockTimeoutMs = 500;

/** The weeks after the newest partition, of those that retention keeps, until two ahead. Reads the catalogue alone. */
const findMissingSql = `
  SELECT day::date::text FROM generate_series(GREATEST(date_trunc('week', $2::timestamp), (
    SELECT to_timestamp(('x' || left(replace(until::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC'
    FROM span_partition WHERE until IS NOT NULL ORDER BY until DESC LIMIT 1
  )), $1::timestamp + interval '2 weeks', '1 week') AS day`;

const ensureSql = "SELECT ensure_span_partition($1)";

const listPastSql = "SELECT name FROM span_partition WHERE until <= $1 ORDER BY until";

const dropSql = "SELECT drop_span_partition($1)";

/** Makes the partitions of spans for the weeks ahead. Until one is made, the default partition takes its spans. */
export async function ensureSpanWeeks(pool: pg.Pool, today: string, oldest: string): Promise<void> {
  const { rows } = await pool.query<{ day: string }>(findMissingSql, [today, oldest]);
  for (const { day } of rows) {
    if (!(await tryTransaction(pool, lockTimeoutMs, (client) => client.query(ensureSql, [day])))) return;
  }
}

/** Drops the partitions with spans below an id alone, as files. One in use waits for the next round. */
export async function dropSpanWeeks(pool: pg.Pool, before: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(listPastSql, [before]);
  const dropped: string[] = [];
  for (const { name } of rows) {
    if (await tryTransaction(pool, lockTimeoutMs, (client) => client.query(dropSql, [name]))) dropped.push(name);
  }
  return dropped;
}

/** The first id of the weeks that retention drops whole; spans below are in no week's partition. */
export async function readFirstWeek(pool: pg.Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ first: string }>(
    "SELECT first FROM span_partition WHERE first IS NOT NULL ORDER BY first LIMIT 1",
  );
  return rows[0]?.first;
}
