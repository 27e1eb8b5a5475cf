import { idBounds } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { type DocumentedAnswer, errorSchema } from "@waymark/service/http";
import type { Batching } from "@waymark/traces";
import { LRUCache } from "lru-cache";
import { z } from "zod";

/** A hundred times the spans of an agent's long trace, and as many as one read can still return. */
export const maxSpansPerTrace = 100_000;

export const traceIsFull: DocumentedAnswer = {
  description: `The trace would have more than ${maxSpansPerTrace.toLocaleString("en")} spans, or the body is too large`,
  schema: errorSchema({ limit: z.number() }),
  example: { error: "Trace has too many spans", limit: maxSpansPerTrace },
};

/**
 * Spans that this process adds to a trace between two counts in the database: a tenth of the remaining capacity, because a
 * count reads an index entry per span, but at least 1,000. Ten instances together stay below the limit.
 */
const minUncounted = 1_000;
const uncountedShare = 0.1;
/** Traces in memory, at some 300 bytes each. A forgotten trace is counted again. */
const maxTraces = 20_000;
/** A full trace is counted again only after this, or each request to it would cost a count. */
const recountAfterMs = 10_000;
/** A count of a full trace takes some ten milliseconds. */
const maxTracesPerStatement = 4;

interface SpanCount {
  /** Spans in the database at the last count, plus the spans that this process has let in since. */
  spans: number;
  /** Spans that may still come in before the next count. */
  uncountedLeft: number;
  /** Time of the last count, by `performance.now()`. */
  countedAt: number;
  counting: Promise<void> | undefined;
}

/** Limits the spans of each trace. */
export interface TraceCapacity {
  /**
   * Takes capacity of a trace, before its spans are stored. A refusal takes nothing. An unknown trace has the full
   * capacity, so the trace itself need not be looked up first. On `false` the JSON routes throw {@link traceFull}; OTLP
   * reports the refused spans in `partial_success`.
   * @param traceId our id of the trace, in upper or lower case
   * @returns whether the spans fit below {@link maxSpansPerTrace}; a promise only where the database has to count
   */
  take(accountId: string, traceId: string, spans: number): boolean | Promise<boolean>;
  /** Notes a trace that this process has just created: it is empty and needs no count. */
  created(accountId: string, traceId: string): void;
}

/**
 * Counts the spans of each trace, up to $3. Reads one range of `span_pkey` per trace, from the index alone where vacuum
 * has been there.
 */
const countSpansSql = `
  SELECT (SELECT count(*)::int FROM (
    SELECT FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.trace_id AND s.trace_id BETWEEN $4 AND $5 LIMIT $3
  ) counted)
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, position) ORDER BY position`;

/** The 413 for spans that exceed the capacity of their trace. */
export function traceFull(): AppError {
  return new AppError("trace_full", { details: { limit: maxSpansPerTrace } });
}

/**
 * Counts spans in memory, and in the database when a trace is first seen and again after {@link minUncounted} spans.
 * Instances do not see each other's spans between two counts, so a trace may exceed the limit by 1,000 spans per instance
 * and by the spans in flight during a count.
 */
export function createTraceCapacity(deps: Batching, max = maxSpansPerTrace): TraceCapacity {
  const traces = new LRUCache<string, SpanCount>({ max: maxTraces });
  const countSpans = batchCounts(deps, max);

  function remember(name: string, trace: SpanCount): SpanCount {
    traces.set(name, trace);
    return trace;
  }
  async function count(trace: SpanCount, accountId: string, traceId: string): Promise<void> {
    trace.spans = await countSpans({ accountId, traceId });
    trace.uncountedLeft = Math.max(minUncounted, (max - trace.spans) * uncountedShare);
    trace.countedAt = performance.now();
  }
  function takeKnown(trace: SpanCount, spans: number): boolean {
    if (trace.spans + spans > max) return false;
    trace.spans += spans;
    trace.uncountedLeft -= spans;
    return true;
  }
  async function takeCounted(trace: SpanCount, accountId: string, traceId: string, spans: number): Promise<boolean> {
    trace.counting ??= count(trace, accountId, traceId).finally(() => {
      trace.counting = undefined;
    });
    await trace.counting;
    return takeKnown(trace, spans);
  }

  return {
    take(accountId, givenId, spans) {
      const traceId = givenId.toLowerCase();
      const name = accountId + traceId;
      const trace = traces.get(name) ?? remember(name, uncounted());
      if (trace.counting === undefined) {
        if (spans <= trace.uncountedLeft && takeKnown(trace, spans)) return true;
        if (trace.spans + spans > max && performance.now() - trace.countedAt < recountAfterMs) return false;
      }
      return takeCounted(trace, accountId, traceId, spans);
    },
    created(accountId, traceId) {
      remember(accountId + traceId, { ...uncounted(), uncountedLeft: minUncounted, countedAt: performance.now() });
    },
  };
}

function uncounted(): SpanCount {
  return { spans: 0, uncountedLeft: 0, countedAt: Number.NEGATIVE_INFINITY, counting: undefined };
}

function batchCounts({ pool, createGroupCommit }: Batching, max: number) {
  return createGroupCommit<{ accountId: string; traceId: string }, number>({
    name: "count-spans",
    maxInFlight: 2,
    maxRows: maxTracesPerStatement,
    run: async (traces) => {
      const traceIds = traces.map(({ traceId }) => traceId);
      const { rows } = await pool.query<[number]>({
        name: "count-spans",
        text: countSpansSql,
        rowMode: "array",
        values: [traces.map(({ accountId }) => accountId), traceIds, max + 1, ...idBounds(traceIds)],
      });
      return traces.map((_, index) => rows[index]?.[0] ?? 0);
    },
  });
}
