import type { MappedSpan } from "@waymark/otlp";

/** The spans of one request that belong to one trace. */
export interface TraceGroup {
  /** OpenTelemetry's id of the trace, in hexadecimal. */
  otelTraceId: string;
  spans: MappedSpan[];
  /** The span that decides: a root before all others; of several the one that {@link decidesBefore} the others. */
  decisive: MappedSpan;
}

/** A request's spans by their traces, in the order in which the traces come. */
export function groupByTrace(spans: readonly MappedSpan[]): TraceGroup[] {
  const groups = new Map<string, TraceGroup>();
  for (const span of spans) {
    const group = groups.get(span.traceId);
    if (!group) groups.set(span.traceId, { otelTraceId: span.traceId, spans: [span], decisive: span });
    else {
      group.spans.push(span);
      if (decidesBefore(span, group.decisive)) group.decisive = span;
    }
  }
  return [...groups.values()];
}

/** Whether a span is a root: it has no parent. */
export function isRoot(span: MappedSpan): boolean {
  return span.parentSpanId === null;
}

/**
 * Whether a span decides rather than another, by the order that the database goes by too: roots by start and id, others by
 * start, name and agent.
 */
function decidesBefore(a: MappedSpan, b: MappedSpan): boolean {
  if (isRoot(a) !== isRoot(b)) return isRoot(a);
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt;
  if (isRoot(a)) return a.spanId < b.spanId;
  return isBefore([a.name, a.agentId], [b.name, b.agentId]);
}

/** Compares texts in turn, by the bytes of their UTF-8, as the collation `C` does. */
export function isBefore(a: readonly string[], b: readonly string[]): boolean {
  for (const [index, text] of a.entries()) {
    const order = Buffer.compare(Buffer.from(text), Buffer.from(b[index] ?? ""));
    if (order !== 0) return order < 0;
  }
  return false;
}

/**
 * Cuts groups into portions of so many traces and spans, so that a large request does not fill the queues of statements
 * that all requests share. A group stays whole.
 */
export function* inPortions(groups: readonly TraceGroup[], max: { traces: number; spans: number }) {
  let portion: TraceGroup[] = [];
  let spans = 0;
  for (const group of groups) {
    portion.push(group);
    spans += group.spans.length;
    if (portion.length < max.traces && spans < max.spans) continue;
    yield portion;
    portion = [];
    spans = 0;
  }
  if (portion.length > 0) yield portion;
}
