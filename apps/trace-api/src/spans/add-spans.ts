import type { CreateGroupCommit } from "@waymark/database";
import { usageOfJson } from "@waymark/otlp";
import type pg from "pg";
import type { OnLock } from "../batching/on-lock.js";
import type { ClearFailure } from "../failures/clear-failure.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import { findEarlierSpans, insertIdempotentSpans } from "./insert-idempotent-spans.query.js";
import { insertSpans } from "./insert-spans.query.js";
import { type AddSpansResult, bytesOfSpans, hasAttributes, type SpansToAdd } from "./span-row.js";
import type { TraceCapacity } from "./trace-capacity.js";

/** A statement takes as many spans as one request may bring. */
export const maxSpansPerStatement = 1_000;

/** Adds the spans of a request to a trace, all or none. */
export type AddSpans = (request: Omit<SpansToAdd, "bytes">) => Promise<AddSpansResult>;

interface AddSpansDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  capacity: TraceCapacity;
  clearFailure: ClearFailure;
  priceUsage: PriceUsage;
  countAccepted(kind: "span", count: number): void;
}

/** Makes the way in for spans of the JSON routes, within the capacity of their traces. */
export function createSpanAdder({
  pool,
  createGroupCommit,
  capacity,
  clearFailure,
  priceUsage,
  countAccepted,
}: AddSpansDeps): AddSpans {
  const insertBatched = createGroupCommit<SpansToAdd, AddSpansResult>({
    name: "add-span",
    run: (requests) => insert(pool, requests, "skip"),
    runLocked: (requests) => insert(pool, requests, "wait"),
    // A statement that waits decides about one request at least. A trace deleted meanwhile is not found by the next.
    giveUp: () => undefined,
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ bytes }) => bytes,
    kindOf: (request) =>
      request.month + (request.idempotency ? " idempotent" : "") + (hasAttributes(request) ? " attributes" : ""),
  });
  return async (asked) => {
    const { accountId, traceId, spans, idempotency } = asked;
    const request = { ...asked, bytes: bytesOfSpans(spans) };
    const taken = capacity.take(accountId, traceId, spans.length);
    if (taken === true || (await taken)) {
      const result = await insertBatched(hasAttributes(request) ? await withCalls(request, priceUsage) : request);
      if (result.outcome === "stored") countAccepted("span", spans.length);
      if ("ids" in result && spans.some(({ span }) => span.status === "error")) await clearFailure(request);
      return result;
    }
    // A repeated request gets its first answer, also when the trace has become full.
    return (idempotency && (await findEarlierSpans(pool, accountId, idempotency))) ?? { outcome: "trace_full" };
  };
}

async function withCalls(request: SpansToAdd, priceUsage: PriceUsage): Promise<SpansToAdd> {
  const spans = request.spans.map(async (each) => {
    const usage = each.span.attributes ? usageOfJson(each.span.attributes.text) : null;
    return usage ? { ...each, call: await priceUsage(usage, each.span.started_at) } : each;
  });
  return { ...request, spans: await Promise.all(spans) };
}

function insert(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
  const insertAll = requests[0]?.idempotency ? insertIdempotentSpans : insertSpans;
  return insertAll(pool, requests, onLock);
}
