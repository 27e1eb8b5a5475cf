import type pg from "pg";
import { type AddSpansResult, hasAttributes, type SpansToAdd } from "./span-row.js";

/** Does the same as `insertSpansSql` for one span, without arrays: Postgres takes about half the time. */
const insertOneSpanStatement = {
  name: "insert-one-span",
  text: `
    INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
    SELECT $1::uuid, $2::uuid, $3::uuid, $4, $5, $6::timestamptz, $7::timestamptz, $8::json, $9::json, $10, $11
    WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id = $2)`,
} as const;

type OneSpan = SpansToAdd & { readonly spans: readonly [SpansToAdd["spans"][number]] };

/** Whether the requests bring one span in all, without attributes. */
export function isOneSpan(requests: readonly SpansToAdd[]): requests is readonly [OneSpan] {
  const [request] = requests;
  return requests.length === 1 && request?.spans.length === 1 && !hasAttributes(request);
}

export async function insertOneSpan(
  pool: pg.Pool,
  { accountId, traceId, spans: [{ id, span }] }: OneSpan,
): Promise<AddSpansResult> {
  const { name, status, started_at, ended_at, input, output, error, parent_span_id } = span;
  const fields = [name, status, started_at, ended_at, input?.text ?? null, output?.text ?? null, error, parent_span_id];
  const { rowCount } = await pool.query({ ...insertOneSpanStatement, values: [accountId, traceId, id, ...fields] });
  return rowCount ? { outcome: "stored", ids: [id] } : { outcome: "trace_not_found" };
}
