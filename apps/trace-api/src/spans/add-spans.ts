import type { Batching, ClearFailure, OnLock } from "@waymark/traces";
import { usageOfJson } from "@waymark/traces/otlp";
import type pg from "pg";
import type { PriceUsage } from "../model-calls/model-call.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { findEarlierSpans, insertIdempotentSpans } from "./insert-idempotent-spans.query.js";
import {
  type AddSpansResult,
  bytesOfSpans,
  hasAttributes,
  insertSpans,
  type SpansToAdd,
} from "./insert-spans.query.js";
import type { TraceCapacity } from "./trace-capacity.js";

/** A statement takes as many spans as one request may bring. */
export const maxSpansPerStatement = 1_000;

export type AddSpans = (request: Omit<SpansToAdd, "bytes" | "size">) => Promise<AddSpansResult>;

interface AddSpansDeps extends Batching {
  capacity: TraceCapacity;
  reserve: ByteReserve;
  clearFailure: ClearFailure;
  priceUsage: PriceUsage;
  countAccepted(kind: "span", count: number): void;
}

/** What one statement takes, beside the month of spans that it counts. */
const usualKinds = { plain: "", withAttributes: " attributes" } as const;
const idempotentKinds = { plain: " idempotent", withAttributes: " idempotent attributes" } as const;

/** Makes the way in for spans of the JSON routes, within the capacity of their traces. */
export function createSpanAdder({
  pool,
  createGroupCommit,
  capacity,
  reserve,
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
    bytesOf: ({ size }) => size,
    kindOf: (request) => {
      const kinds = request.idempotency ? idempotentKinds : usualKinds;
      const kind = hasAttributes(request) ? kinds.withAttributes : kinds.plain;
      return request.bytes === 0 ? kind : request.month + kind;
    },
  });
  return async (asked) => {
    const { accountId, traceId, idempotency, plan, month } = asked;
    const taken = capacity.take(accountId, traceId, asked.spans.length);
    if (taken === true || (await taken)) {
      const size = bytesOfSpans(asked.spans);
      const spans = asked.spans.some(({ span }) => span.attributes)
        ? await withCalls(asked.spans, priceUsage)
        : asked.spans;
      const result = await reserve.store(asked, size, (bytes) =>
        insertBatched({ accountId, traceId, spans, idempotency, plan, month, size, bytes }),
      );
      if (result.outcome === "stored") countAccepted("span", spans.length);
      if ("ids" in result && spans.some(({ span }) => span.status === "error")) await clearFailure(asked);
      return result;
    }
    // A repeated request gets its first answer, also when the trace has become full.
    return (idempotency && (await findEarlierSpans(pool, accountId, idempotency))) ?? { outcome: "trace_full" };
  };
}

async function withCalls(spans: SpansToAdd["spans"], priceUsage: PriceUsage): Promise<SpansToAdd["spans"]> {
  const all: SpansToAdd["spans"][number][] = [];
  for (const each of spans) {
    const usage = each.span.attributes ? usageOfJson(each.span.attributes.text) : null;
    const priced = usage && priceUsage(usage, each.span.started_at);
    all.push(priced ? { ...each, call: priced instanceof Promise ? await priced : priced } : each);
  }
  return all;
}

function insert(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
  const insertAll = requests[0]?.idempotency ? insertIdempotentSpans : insertSpans;
  return insertAll(pool, requests, onLock);
}
