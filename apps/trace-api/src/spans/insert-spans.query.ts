import { rowIsLocked } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/service/http";
import {
  type BytesUsed,
  byteValues,
  type Columns,
  type CountedRequest,
  columnArrays,
  columnOfBody,
  grantBytesSql,
  type KeyRefusal,
  keepTraceSql,
  lockedUsageSql,
  type NewSpan,
  type OnLock,
  onLockStatements,
  refusalOfBytes,
  rowSql,
  sizedNames,
  spanColumns,
  storedBytes,
  textOf,
  unnestSql,
  usedBytesSql,
} from "@waymark/traces";
import type pg from "pg";
import { callValues, insertCallsSql, type ModelCall } from "../model-calls/model-call.js";

/** The spans of one request; a statement stores all or none of them. */
export interface SpansToAdd extends CountedRequest {
  /** What the spans count; `bytes` is 0 where a reserve has paid. */
  size: number;
  accountId: string;
  traceId: string;
  spans: readonly { id: string; span: NewSpan; call?: ModelCall | undefined }[];
  idempotency: IdempotencyKey | undefined;
}

/** The outcome, with the ids of the spans. A replay has the ids of the first request. */
export type AddSpansResult =
  | ({ outcome: "stored"; ids: readonly string[] } & BytesUsed)
  | ({ outcome: "byte_limit" } & BytesUsed)
  | { outcome: "replayed"; ids: readonly string[] }
  | { outcome: "trace_not_found" }
  | { outcome: "trace_full" }
  | KeyRefusal;

const sized = sizedNames();

/** What spans count in their account's month. */
export function bytesOfSpans(spans: readonly { span: NewSpan }[]): number {
  return spans.reduce((sum, { span }) => sum + storedBytes(sized.map((name) => textOf(span[name]))), 0);
}

interface SpanRow {
  /** Of its request, from 1. */
  position: number;
  given: SpansToAdd["spans"][number];
}

const columnsOf = (withAttributes: boolean): Columns<SpanRow> => ({
  position: { type: "int", of: ({ position }) => position },
  id: { type: "uuid", of: ({ given }) => given.id },
  ...spanColumns<SpanRow>(withAttributes, (name) => {
    const read = columnOfBody(name);
    return ({ given }) => read(given.span);
  }),
});
const plainColumns = columnsOf(false);
const allColumns = columnsOf(true);

/**
 * Inserts the spans of the parameters from `$first` on, and with their attributes their model calls, of the requests in the CTE
 * `granted`. One probe of `span_pkey` per span.
 */
export function insertGrantedSpansSql(first: number, withAttributes: boolean): string {
  const columns = withAttributes ? allColumns : plainColumns;
  const all = Object.keys(columns);
  const names = all.slice(1).join(", ");
  const calls = withAttributes ? `\n  ), calls AS (${insertCallsSql(first + all.length, "granted")}` : "";
  return `
    INSERT INTO span (account_id, trace_id, ${names})
    SELECT account_id, trace_id, ${names} FROM ${unnestSql(first, columns)} JOIN granted USING (position)${calls}`;
}

export function hasAttributes({ spans }: SpansToAdd): boolean {
  return spans.some(({ span }) => span.attributes);
}

/** The parameters of {@link insertGrantedSpansSql}. */
function spanValues(requests: readonly SpansToAdd[], withAttributes: boolean): unknown[] {
  const rows = requests.flatMap(({ spans }, index) => spans.map((given) => ({ position: index + 1, given })));
  if (!withAttributes) return columnArrays(rows, plainColumns);
  const calls = rows.flatMap(({ position, given: { id, span, call } }) =>
    call ? [{ request: position, spanId: id, startedAt: span.started_at, call }] : [],
  );
  return [...columnArrays(rows, allColumns), ...callValues(calls)];
}

const requestsSql = "unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)";
const countedRequestsSql = `unnest($1::uuid[], $2::uuid[], $4::int[], $5::bigint[]) WITH ORDINALITY
      AS r (account_id, trace_id, bytes_to_add, max_bytes, position)`;

/**
 * Counts and stores the spans of each request to a trace of its account; paid requests it only stores. A request beyond its
 * month's bytes is neither. Two probes of `trace_usage_pkey` per account, one of `trace_pkey` per request. Spans without
 * attributes lock no trace: deleting a trace deletes the range of its spans, and the leftovers of a race go with retention. Those
 * with model calls keep the trace until their commit, so that a deletion books them.
 */
function insertSpansSql(onLock: OnLock, withAttributes: boolean, isPaid: boolean): string {
  const withTraceSql = (name: string, requests: string) => `${name} AS MATERIALIZED (
    SELECT r.* FROM ${requests}
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(withAttributes ? onLock : undefined)}
  )`;
  const grantedSql = isPaid
    ? withTraceSql("granted", requestsSql)
    : `${lockedUsageSql(onLock, { accounts: "$1::uuid[]", month: "$3" })}, ${withTraceSql("found", countedRequestsSql)}, ${grantBytesSql("found", "$3")}`;
  const isFound = "found.position IS NOT NULL";
  return `
  WITH ${grantedSql}, stored AS (${insertGrantedSpansSql(isPaid ? 3 : 6, withAttributes)}
  )
  SELECT CASE WHEN granted.position IS NOT NULL THEN 'stored'${isPaid ? "" : ` WHEN ${isFound} THEN 'refused'`}
    WHEN EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) THEN 'locked'
    ELSE 'trace_not_found' END, ${isPaid ? "NULL" : `CASE WHEN ${isFound} THEN ${usedBytesSql("r.account_id", "$3")} END`}
  FROM ${requestsSql}
  ${isPaid ? "" : "LEFT JOIN found USING (position) "}LEFT JOIN granted USING (position) ORDER BY position`;
}

/** The statements of a name for spans, with attributes or without. */
export function spanStatements(name: string, sqlOf: (onLock: OnLock, withAttributes: boolean) => string) {
  const plain = onLockStatements(name, (onLock) => sqlOf(onLock, false));
  return { plain, withAttributes: onLockStatements(`${name}-with-attributes`, (onLock) => sqlOf(onLock, true)) };
}

const countedStatements = spanStatements("insert-spans", (onLock, all) => insertSpansSql(onLock, all, false));
const paidStatements = spanStatements("insert-spans-paid", (onLock, all) => insertSpansSql(onLock, all, true));

/** `refused` by the month's bytes or its lock, `locked` by the deletion of its trace. */
type Outcome = Exclude<AddSpansResult["outcome"], "trace_full" | "byte_limit"> | "refused" | "locked";
/** The last is the month's bytes. A replay has the ids of the first request before. */
type Answer = [outcome: Outcome, idsOrBytes: string[] | number | null, usedBytes?: number | null];

/** Runs one of the statements for requests of one month. Those of keys have `more` parameters. */
export async function insertAll(
  pool: pg.Pool,
  requests: readonly SpansToAdd[],
  onLock: OnLock,
  statements: ReturnType<typeof spanStatements>,
  more: readonly unknown[],
): Promise<(AddSpansResult | typeof rowIsLocked)[]> {
  const withAttributes = requests.some(hasAttributes);
  const addresses = [requests.map(({ accountId }) => accountId), requests.map(({ traceId }) => traceId)];
  const { rows } = await pool.query<Answer>({
    ...statements[withAttributes ? "withAttributes" : "plain"][onLock],
    rowMode: "array",
    values: [...addresses, ...more, ...spanValues(requests, withAttributes)],
  });
  return requests.map((request, index) => {
    const [outcome, ...rest] = rows[index] ?? ["trace_not_found", null];
    const usedBytes = (rest.at(-1) ?? null) as number | null;
    if (outcome === "refused") return refusalOfBytes(request, usedBytes);
    if (outcome === "locked") return rowIsLocked;
    if (outcome === "replayed") return { outcome, ids: Array.isArray(rest[0]) ? rest[0] : [] };
    if (outcome !== "stored") return { outcome };
    return { outcome, ids: request.spans.map(({ id }) => id), usedBytes: usedBytes ?? 0 };
  });
}

/** The parameters $3 to $5: the month, what requests count in it, and their limits. */
export function monthValues(requests: readonly SpansToAdd[]): unknown[] {
  return [requests[0]?.month, ...byteValues(requests)];
}

/** Of one month, without idempotency keys. All have attributes or none, and reserves have paid for all or none. */
export async function insertSpans(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
  const alone = onLock === "skip" && isOneSpan(requests) ? await tryInsertSpan(pool, requests[0]) : undefined;
  if (alone) return [alone];
  return requests[0]?.bytes === 0
    ? insertAll(pool, requests, onLock, paidStatements, [])
    : insertAll(pool, requests, onLock, countedStatements, monthValues(requests));
}

const oneColumns = spanColumns<NewSpan>(false, columnOfBody);
const oneNames = Object.keys(oneColumns);
const oneReaders = Object.values(oneColumns).map(({ of }) => of);
const insertOneSql = `
      INSERT INTO span (account_id, trace_id, id, ${oneNames.join(", ")})
      SELECT $1, $2, $3::uuid, ${rowSql(4, oneColumns)}`;
const monthAt = 4 + oneNames.length;
const traceIsThereSql = "EXISTS (SELECT FROM trace t WHERE t.account_id = $1::uuid AND t.id = $2::uuid)";

/** Stores a paid span. */
const insertPaidSpan = { name: "insert-paid-span", text: `${insertOneSql} WHERE ${traceIsThereSql}` } as const;

/**
 * Does the same as {@link insertSpansSql} for one span, without arrays: Postgres takes about half the time. Stores nothing if the
 * trace is unknown, or the month has no row, is full, or is locked.
 */
const insertOneSpan = {
  name: "insert-one-span",
  text: `
    WITH locked AS MATERIALIZED (
      SELECT FROM trace_usage WHERE account_id = $1 AND month = $${monthAt} FOR NO KEY UPDATE SKIP LOCKED
    ), counted AS (
      UPDATE trace_usage SET bytes = bytes + $${monthAt + 1}
      WHERE account_id = $1 AND month = $${monthAt} AND bytes + $${monthAt + 1} <= $${monthAt + 2} AND EXISTS (SELECT FROM locked) AND ${traceIsThereSql}
      RETURNING bytes
    ), stored AS (${insertOneSql} FROM counted
    )
    SELECT bytes FROM counted`,
} as const;

type OneSpan = SpansToAdd & { readonly spans: readonly [SpansToAdd["spans"][number]] };

/** Whether the requests bring one span in all, without attributes. */
function isOneSpan(requests: readonly SpansToAdd[]): requests is readonly [OneSpan] {
  const [request] = requests;
  return requests.length === 1 && request?.spans.length === 1 && !hasAttributes(request);
}

/** Stores a span; undefined where a statement for many requests has to decide. */
async function tryInsertSpan(
  pool: pg.Pool,
  { accountId, traceId, spans: [{ id, span }], month, plan, bytes }: OneSpan,
): Promise<AddSpansResult | undefined> {
  const values = [accountId, traceId, id, ...oneReaders.map((read) => read(span))];
  if (bytes === 0) {
    const { rowCount } = await pool.query({ ...insertPaidSpan, values });
    return rowCount ? { outcome: "stored", ids: [id], usedBytes: 0 } : { outcome: "trace_not_found" };
  }
  const { rows } = await pool.query<[usedBytes: number]>({
    ...insertOneSpan,
    rowMode: "array",
    values: [...values, month, bytes, plan.bytesPerMonth],
  });
  const [stored] = rows;
  return stored && { outcome: "stored", ids: [id], usedBytes: stored[0] };
}
