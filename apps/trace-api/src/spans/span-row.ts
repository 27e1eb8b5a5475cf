import { binaryArray } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/service/http";
import type { KeyRefusal } from "../idempotency/key-state.js";
import { callValues, insertCallsSql, type ModelCall } from "../model-calls/model-call.js";
import { type BytesUsed, byteValues, type CountedRequest, storedBytes } from "../usage/stored-bytes.js";
import type { NewSpan } from "./span.schema.js";

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

/** What spans count in their account's month. */
export function bytesOfSpans(spans: readonly { span: NewSpan }[]): number {
  return spans.reduce((sum, { span: { name, input, output, error, parent_span_id, attributes } }) => {
    return sum + storedBytes([name, input?.text, output?.text, error, parent_span_id, attributes?.text]);
  }, 0);
}

const columns = "id, name, status, started_at, ended_at, input, output, error, parent_span_id";

/**
 * Inserts the spans ($3 to $12) of the requests in the CTE `granted`. One probe of `span_pkey` per span.
 * @param attributes the number of the first parameter of {@link attributeValues}, if any span has attributes
 */
export function insertGrantedSpansSql(attributes?: number): string {
  const names = attributes ? `${columns}, attributes` : columns;
  const calls = attributes ? `\n  ), calls AS (${insertCallsSql(attributes + 1, "granted", "position")}` : "";
  return `
    INSERT INTO span (account_id, trace_id, ${names})
    SELECT account_id, trace_id, ${names}
    FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::json[], $10::json[],
      $11::text[], $12::text[]${attributes ? `, $${attributes}::json[]` : ""})
      AS s (position, ${names})
    JOIN granted USING (position)${calls}`;
}

export function hasAttributes({ spans }: SpansToAdd): boolean {
  return spans.some(({ span }) => span.attributes);
}

/** The parameters $1 to $12: the requests, and their spans with the positions of their requests, from 1. */
export function spanValues(requests: readonly SpansToAdd[]): unknown[] {
  const spans = requests.flatMap((request) => request.spans);
  return [
    requests.map(({ accountId }) => accountId),
    requests.map(({ traceId }) => traceId),
    requests.flatMap((request, index) => request.spans.map(() => index + 1)),
    spans.map(({ id }) => id),
    spans.map(({ span }) => span.name),
    spans.map(({ span }) => span.status),
    spans.map(({ span }) => span.started_at),
    spans.map(({ span }) => span.ended_at),
    binaryArray(
      "json",
      spans.map(({ span }) => span.input?.text ?? null),
    ),
    binaryArray(
      "json",
      spans.map(({ span }) => span.output?.text ?? null),
    ),
    spans.map(({ span }) => span.error),
    spans.map(({ span }) => span.parent_span_id),
  ];
}

/** The parameters $13 to $15: the month, what requests count in it, and their limits. */
export function monthValues(requests: readonly SpansToAdd[]): unknown[] {
  return [requests[0]?.month, ...byteValues(requests)];
}

/** Whether reserves have paid for all requests, which then need no count; either all are paid, or none. */
export function isPaid([request]: readonly SpansToAdd[]): boolean {
  return request?.bytes === 0;
}

/** Further parameters of `insertGrantedSpansSql`. A stored object has the form of those from OpenTelemetry. */
export function attributeValues(requests: readonly SpansToAdd[]): unknown[] {
  const calls = requests.flatMap(({ spans }, index) =>
    spans.flatMap(({ id, span, call }) =>
      call ? [{ request: index + 1, spanId: id, startedAt: span.started_at, call }] : [],
    ),
  );
  const attributes = binaryArray(
    "json",
    requests.flatMap(({ spans }) =>
      spans.map(({ span }) => (span.attributes ? storedAttributes(span.attributes.text) : null)),
    ),
  );
  return [attributes, ...callValues(calls)];
}

/** @param json the attributes as a JSON object */
export function storedAttributes(json: string): string {
  return `{"attributes":${json}}`;
}
