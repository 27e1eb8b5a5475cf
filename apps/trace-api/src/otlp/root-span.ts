import { type MappedSpan, spanUuid } from "@waymark/traces/otlp";
import type { StoredTrace } from "./find-traces.query.js";
import type { TraceUpdate } from "./update-trace.query.js";

/** The spans of a trace in one request that decide its own members. */
export interface DecidingSpans {
  /** The root span, or without one the first span; see {@link precedes}. */
  rootOrFirst: MappedSpan;
  /** A root span that failed. */
  failedRoot: MappedSpan | undefined;
}

/** Whether a span has no parent. */
export function isRoot(span: MappedSpan): boolean {
  return span.parentSpanId === null;
}

/**
 * Whether a span describes its trace rather than another span. Root spans come first, in the order of start and id. The
 * other spans go by start, name and agent. `update-trace.query.ts` uses the same order.
 */
export function precedes(a: MappedSpan, b: MappedSpan): boolean {
  if (isRoot(a) !== isRoot(b)) return isRoot(a);
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt;
  if (isRoot(a)) return a.spanId < b.spanId;
  return isBefore([a.name, a.agentId], [b.name, b.agentId]);
}

/** Whether a span precedes the one that describes the stored trace. The update checks this again under its lock. */
export function changesTrace(stored: StoredTrace, span: MappedSpan): boolean {
  if (!isRoot(span)) {
    if (stored.rootSpanId !== null) return false;
    return isBefore([span.startedAt, span.name, span.agentId], [stored.startedAt, stored.name, stored.agentId]);
  }
  if (stored.rootSpanId === null) return true;
  return isBefore([span.startedAt, spanUuid(stored.id, span.spanId)], [stored.startedAt, stored.rootSpanId]);
}

/** Whether a root span of the group is the first failed one of its trace. The update checks this again under its lock. */
export function failsTrace(stored: StoredTrace, { failedRoot }: DecidingSpans): boolean {
  return (
    failedRoot !== undefined && !stored.hasFailedRoot && spanUuid(stored.id, failedRoot.spanId) !== stored.rootSpanId
  );
}

/** Compares lists of texts by the bytes of their UTF-8, as the collation `C` does. */
function isBefore(a: readonly string[], b: readonly string[]): boolean {
  for (const [index, text] of a.entries()) {
    const order = Buffer.compare(Buffer.from(text), Buffer.from(b[index] ?? ""));
    if (order !== 0) return order < 0;
  }
  return false;
}

/**
 * Makes the update of a trace from its root span, or from its first span until the root arrives.
 * @param how with the id of the alert, if one is allowed, and whether a span that is no root leaves the agent unchanged
 */
export function traceUpdateOf(
  accountId: string,
  { id }: StoredTrace,
  { rootOrFirst: span, failedRoot }: DecidingSpans,
  how: { alertId: string | null; keepsAgent: boolean },
): TraceUpdate {
  const { agentId, name, startedAt, endedAt, resource, traceId } = span;
  const update = { accountId, traceId: id, agentId, name, startedAt };
  if (!isRoot(span)) return { ...update, agentId: how.keepsAgent ? null : agentId, root: null };
  const root = {
    spanId: spanUuid(id, span.spanId),
    failedSpanId: failedRoot ? spanUuid(id, failedRoot.spanId) : null,
    endedAt,
    metadata: `{"otel_trace_id":"${traceId}","resource":${resource.json}}`,
    alertId: how.alertId,
  } as const;
  return { ...update, root };
}
