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

/** How many spans an item has, and what it takes in statements. */
export interface PortionSize {
  spans: number;
  bytes: number;
}

/**
 * Cuts items into portions of so many items, spans and bytes, so that a large request does not fill the queues of
 * statements that all requests share. An item that is larger alone is a portion of its own.
 */
export function* inPortions<Item>(
  items: readonly Item[],
  max: PortionSize & { items: number },
  sizeOf: (item: Item) => PortionSize,
): Generator<Item[]> {
  let portion: Item[] = [];
  let [spans, bytes] = [0, 0];
  for (const item of items) {
    const size = sizeOf(item);
    const isFull = portion.length === max.items || spans + size.spans > max.spans || bytes + size.bytes > max.bytes;
    if (isFull && portion.length > 0) {
      yield portion;
      portion = [];
      [spans, bytes] = [0, 0];
    }
    portion.push(item);
    spans += size.spans;
    bytes += size.bytes;
  }
  if (portion.length > 0) yield portion;
}

/** The size of a group, with what its spans share counted once. */
export function sizeOfGroup({ spans, decisive: { resource, scope } }: TraceGroup): PortionSize {
  const shared = resource.bytes + (scope?.bytes ?? 0);
  return { spans: spans.length, bytes: spans.reduce((sum, span) => sum + ownBytes(span), shared) };
}

/** What a span takes in a statement beside what it shares with others. */
export function ownBytes({ input, output, error, extra }: MappedSpan): number {
  return (input?.length ?? 0) + (output?.length ?? 0) + (error?.length ?? 0) + extra.length;
}
