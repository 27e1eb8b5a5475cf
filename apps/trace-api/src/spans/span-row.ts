import type { IdempotencyKey } from "@waymark/service/http";
import {
  type Columns,
  columnArrays,
  columnOfBody,
  type NewSpan,
  sizedNames,
  spanColumns,
  textOf,
  unnestSql,
} from "@waymark/traces";
import type { KeyRefusal } from "../idempotency/key-state.js";
import { callValues, insertCallsSql, type ModelCall } from "../model-calls/model-call.js";
import { type BytesUsed, byteValues, type CountedRequest, storedBytes } from "../usage/stored-bytes.js";

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

const sized = sizedNames(true);

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

/** The parameters $1 and $2. */
export function traceValues(requests: readonly SpansToAdd[]): unknown[] {
  return [requests.map(({ accountId }) => accountId), requests.map(({ traceId }) => traceId)];
}

/** The parameters $3 to $5: the month, what requests count in it, and their limits. */
export function monthValues(requests: readonly SpansToAdd[]): unknown[] {
  return [requests[0]?.month, ...byteValues(requests)];
}

/** Whether reserves have paid for all requests, which then need no count; either all are paid, or none. */
export function isPaid([request]: readonly SpansToAdd[]): boolean {
  return request?.bytes === 0;
}

/** The parameters of {@link insertGrantedSpansSql}. */
export function spanValues(requests: readonly SpansToAdd[], withAttributes: boolean): unknown[] {
  const rows = requests.flatMap(({ spans }, index) => spans.map((given) => ({ position: index + 1, given })));
  if (!withAttributes) return columnArrays(rows, plainColumns);
  const calls = rows.flatMap(({ position, given: { id, span, call } }) =>
    call ? [{ request: position, spanId: id, startedAt: span.started_at, call }] : [],
  );
  return [...columnArrays(rows, allColumns), ...callValues(calls)];
}
