import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";
import { findEarlierSpans, insertIdempotentSpans } from "./insert-idempotent-spans.query.js";
import { insertSpans } from "./insert-spans.query.js";
import type { NewSpan } from "./span.schema.js";
import type { AddSpansResult, SpansToAdd } from "./span-row.js";
import type { TraceCapacity } from "./trace-capacity.js";

/** A statement takes as many spans as one request may bring. */
export const maxSpansPerStatement = 1_000;

/** Adds the spans of a request to a trace, all or none. */
export type AddSpans = (request: SpansToAdd) => Promise<AddSpansResult>;

interface AddSpansDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  capacity: TraceCapacity;
}

/** Makes the way in for spans of the JSON routes, within the capacity of their traces. */
export function createSpanAdder({ pool, createGroupCommit, capacity }: AddSpansDeps): AddSpans {
  const insertBatched = createGroupCommit<SpansToAdd, AddSpansResult>({
    name: "add-span",
    run: (requests) => (requests[0]?.idempotency ? insertIdempotentSpans(pool, requests) : insertSpans(pool, requests)),
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ spans }) => spans.reduce((bytes, { span }) => bytes + bytesOf(span), 0),
    kindOf: ({ idempotency }) => (idempotency ? "idempotent" : ""),
  });
  return async (request) => {
    const { accountId, traceId, spans, idempotency } = request;
    const taken = capacity.take(accountId, traceId, spans.length);
    if (taken === true || (await taken)) return insertBatched(request);
    // A repeated request gets its first answer, also when the trace has become full.
    return (idempotency && (await findEarlierSpans(pool, accountId, idempotency))) ?? { outcome: "trace_full" };
  };
}

function bytesOf({ input, output, error }: NewSpan): number {
  return (input?.text.length ?? 0) + (output?.text.length ?? 0) + (error?.length ?? 0);
}
