import { type MappedSpan, spanUuid } from "@waymark/otlp";
import type { StoredTrace } from "./find-traces.query.js";
import type { TraceToSettle } from "./settle-trace.query.js";
import { isBefore, isRoot } from "./trace-group.js";

/** Whether a span decides about a trace what is not stored yet. The statement that stores it asks once more. */
export function isNewsTo(stored: StoredTrace, span: MappedSpan): boolean {
  if (!isRoot(span)) {
    if (stored.rootSpanId !== null) return false;
    return isBefore([span.startedAt, span.name, span.agentId], [stored.startedAt, stored.name, stored.agentId]);
  }
  if (stored.rootSpanId === null) return true;
  return isBefore([span.startedAt, spanUuid(stored.id, span.spanId)], [stored.startedAt, stored.rootSpanId]);
}

/**
 * What a decisive span makes of its trace.
 * @param alertId the alert to owe if the span is a root that failed, otherwise null
 */
export function decisionOf(
  accountId: string,
  { id }: StoredTrace,
  span: MappedSpan,
  alertId: string | null,
): TraceToSettle {
  const { agentId, name, startedAt, endedAt, status, resource, traceId } = span;
  const decision = { accountId, traceId: id, agentId, name, startedAt };
  if (!isRoot(span)) return { ...decision, root: null };
  const metadata = `{"otel_trace_id":"${traceId}","resource":${resource.json}}`;
  const root = {
    spanId: spanUuid(id, span.spanId),
    status: status === "error" ? "error" : "success",
    endedAt,
    metadata,
  } as const;
  return { ...decision, root: { ...root, alertId } };
}
