import { randomUUID } from "node:crypto";
import type pg from "pg";

export interface NewSpan {
  name: string;
  /** The row of the parent in the same list. */
  parent?: number;
  status?: "ok" | "error";
  /** Milliseconds since the trace's start. */
  from: number;
  to?: number | null;
  input?: string | null;
  output?: string | null;
  error?: string | null;
  attributes?: string | null;
}

interface NewTrace {
  name?: string;
  status?: string;
  spans?: readonly NewSpan[];
}

const start = Date.UTC(2026, 5, 1, 12);
const at = (ms: number) => new Date(start + ms);

/** Adds a trace with its spans; returns their ids. */
export async function addTrace(
  pool: pg.Pool,
  accountId: string,
  { name = "airline task 0 trial 3", status = "error", spans = [] }: NewTrace,
) {
  const id = randomUUID();
  const ended = status === "running" ? null : at(Math.max(0, ...spans.map(({ from, to }) => to ?? from)));
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     VALUES ($1, $2, 'tau-bench-airline-gpt-4o', $3, $4, $5, $6)`,
    [accountId, id, name, status, at(0), ended],
  );
  const spanIds: string[] = [];
  for (const span of spans) spanIds.push(await addSpan(pool, { accountId, traceId: id }, span, spanIds));
  return { id, spanIds };
}

export async function addSpan(
  pool: pg.Pool,
  { accountId, traceId }: { accountId: string; traceId: string },
  span: NewSpan,
  ids: readonly string[] = [],
): Promise<string> {
  const id = `${ids.length.toString(16).padStart(8, "0")}-0000-7000-8000-${randomUUID().slice(-12)}`;
  const {
    name,
    parent,
    status = "ok",
    from,
    to = from,
    input = null,
    output = null,
    error = null,
    attributes = null,
  } = span;
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, attributes, parent_span_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      ...[accountId, traceId, id, name, status, at(from), to === null ? null : at(to), input, output, error],
      ...[attributes, parent === undefined ? null : (ids[parent] ?? null)],
    ],
  );
  return id;
}

/**
 * Adds a trace of `count` spans: model calls and tools below steps of ten, one in 150 failed. Ids rise with the time, or are in no
 * order as OpenTelemetry's.
 */
export async function addLargeTrace(
  pool: pg.Pool,
  accountId: string,
  count: number,
  { isShuffled = false } = {},
): Promise<string> {
  const spanIdSql = (n: string) =>
    `(${isShuffled ? `left(md5('a' || ${n}), 8)` : `lpad(to_hex(${n}), 8, '0')`} || '-0000-7000-8000-' || left(md5((${n})::text), 12))`;
  const { id } = await addTrace(pool, accountId, { name: `Migrate the billing service (${count} steps)` });
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
     SELECT $1, $2, own::uuid,
       CASE WHEN n % 10 = 0 THEN 'agent: step ' || n % 40 WHEN n % 2 = 0 THEN 'model call: gpt-4o' ELSE 'tool: search_direct_flight' END,
       CASE WHEN n % 150 = 75 THEN 'error' ELSE 'ok' END,
       $3::timestamptz + n * interval '530 milliseconds',
       $3::timestamptz + (n * 530 + CASE WHEN n % 10 = 0 THEN 5300 ELSE 40 + n * 79 % 400 END) * interval '1 millisecond',
       json_build_object('n', n), json_build_object('role', 'assistant', 'content', 'Answer ' || n),
       CASE WHEN n % 150 = 75 THEN 'Command exited with ' || n % 7 END,
       CASE WHEN n % 10 <> 0 AND n > 10 THEN parent END
     FROM generate_series(0, $4::int - 1) n,
       LATERAL (SELECT ${spanIdSql("n")} AS own, ${spanIdSql("n - n % 10")} AS parent) ids`,
    [accountId, id, at(0), count],
  );
  await pool.query("UPDATE trace SET ended_at = $3 WHERE account_id = $1 AND id = $2", [
    accountId,
    id,
    at(count * 530),
  ]);
  return id;
}
