import { type MappedSpan, spanUuid } from "@waymark/otlp";
import type { StoredTrace } from "./find-traces.query.js";
import { isBefore, isRoot } from "./trace-group.js";
import type { TraceToSettle } from "./update-trace.query.js";

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
 * @param how with the alert to owe if the span is a root that failed, and whether a span that is no root leaves the agent
 */
export function decisionOf(
  accountId: string,
  { id }: StoredTrace,
  span: MappedSpan,
  how: { alertId: string | null; keepsAgent: boolean },
): TraceToSettle {
  const { agentId, name, startedAt, endedAt, status, resource, traceId } = span;
  const decision = { accountId, traceId: id, agentId, name, startedAt };
  if (!isRoot(span)) return { ...decision, agentId: how.keepsAgent ? null : agentId, root: null };
  const metadata = `{"otel_trace_id":"${traceId}","resource":${resource.json}}`;
  const root = {
    spanId: spanUuid(id, span.spanId),
    status: status === "error" ? "error" : "success",
    endedAt,
    metadata,
  } as const;
  return { ...decision, root: { ...root, alertId: how.alertId } };
}
