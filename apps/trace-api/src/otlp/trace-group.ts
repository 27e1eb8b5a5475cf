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
 * Cuts groups into portions of so many traces, spans and bytes, so that a large request does not fill the queues of
 * statements that all requests share. A group stays whole.
 */
export function* inPortions<Item extends { group: TraceGroup }>(
  items: readonly Item[],
  max: { traces: number; spans: number; bytes: number },
): Generator<Item[]> {
  let portion: Item[] = [];
  let [spans, bytes] = [0, 0];
  for (const item of items) {
    portion.push(item);
    spans += item.group.spans.length;
    bytes += bytesOf(item.group);
    if (portion.length < max.traces && spans < max.spans && bytes < max.bytes) continue;
    yield portion;
    portion = [];
    [spans, bytes] = [0, 0];
  }
  if (portion.length > 0) yield portion;
}

/** What a group takes in statements, with what its spans share counted once. */
function bytesOf({ spans, decisive: { resource, scope } }: TraceGroup): number {
  return spans.reduce(
    (sum, { input, output, extra }) => sum + (input?.length ?? 0) + (output?.length ?? 0) + extra.length,
    resource.bytes + (scope?.bytes ?? 0),
  );
}
