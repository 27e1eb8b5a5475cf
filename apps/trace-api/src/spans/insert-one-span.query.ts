import { columnOfBody, type NewSpan, rowSql, spanColumns } from "@waymark/traces";
import type pg from "pg";
import { type AddSpansResult, hasAttributes, type SpansToAdd } from "./span-row.js";

const columns = spanColumns<NewSpan>(false, columnOfBody);
const names = Object.keys(columns);
const readers = Object.values(columns).map(({ of }) => of);
const insertSql = `
      INSERT INTO span (account_id, trace_id, id, ${names.join(", ")})
      SELECT $1, $2, $3::uuid, ${rowSql(4, columns)}`;
const month = 4 + names.length;
const traceIsThereSql = "EXISTS (SELECT FROM trace t WHERE t.account_id = $1::uuid AND t.id = $2::uuid)";

/** Stores a paid span. */
const insertPaidSpanStatement = { name: "insert-paid-span", text: `${insertSql} WHERE ${traceIsThereSql}` } as const;

/**
 * Does the same as `insertSpansSql` for one span, without arrays: Postgres takes about half the time. Stores nothing if the
 * trace is unknown, or the month has no row, is full, or is locked.
 */
const insertOneSpanStatement = {
  name: "insert-one-span",
  text: `
    WITH locked AS MATERIALIZED (
      SELECT FROM trace_usage WHERE account_id = $1 AND month = $${month} FOR NO KEY UPDATE SKIP LOCKED
    ), counted AS (
      UPDATE trace_usage SET bytes = bytes + $${month + 1}
      WHERE account_id = $1 AND month = $${month} AND bytes + $${month + 1} <= $${month + 2} AND EXISTS (SELECT FROM locked) AND ${traceIsThereSql}
      RETURNING bytes
    ), stored AS (${insertSql} FROM counted
    )
    SELECT bytes FROM counted`,
} as const;

type OneSpan = SpansToAdd & { readonly spans: readonly [SpansToAdd["spans"][number]] };

/** Whether the requests bring one span in all, without attributes. */
export function isOneSpan(requests: readonly SpansToAdd[]): requests is readonly [OneSpan] {
  const [request] = requests;
  return requests.length === 1 && request?.spans.length === 1 && !hasAttributes(request);
}

/** Stores a span; undefined where a statement for many requests has to decide. */
export async function tryInsertSpan(
  pool: pg.Pool,
  { accountId, traceId, spans: [{ id, span }], month: firstDay, plan, bytes }: OneSpan,
): Promise<AddSpansResult | undefined> {
  const fields = readers.map((read) => read(span));
  if (bytes === 0) {
    const { rowCount } = await pool.query({ ...insertPaidSpanStatement, values: [accountId, traceId, id, ...fields] });
    return rowCount ? { outcome: "stored", ids: [id], usedBytes: 0 } : { outcome: "trace_not_found" };
  }
  const { rows } = await pool.query<[usedBytes: number]>({
    ...insertOneSpanStatement,
    rowMode: "array",
    values: [accountId, traceId, id, ...fields, firstDay, bytes, plan.bytesPerMonth],
  });
  const [stored] = rows;
  return stored && { outcome: "stored", ids: [id], usedBytes: stored[0] };
}
