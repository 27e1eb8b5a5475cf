import { contentNames, fieldOf } from "@waymark/traces";
import type { MappedSpan } from "@waymark/traces/otlp";
import { type DecidingSpans, isRoot, precedes } from "./root-span.js";

/** The spans of one trace in one request. */
export interface TraceGroup extends DecidingSpans {
  /** OpenTelemetry's id, in hexadecimal. */
  otelTraceId: string;
  spans: MappedSpan[];
}

/** Groups spans by trace, in the order of the first span of each trace. */
export function groupByTrace(spans: readonly MappedSpan[]): TraceGroup[] {
  const groups = new Map<string, TraceGroup>();
  for (const span of spans) {
    const group = groups.get(span.traceId);
    const failedRoot = isRoot(span) && span.status === "error" ? span : undefined;
    if (!group) groups.set(span.traceId, { otelTraceId: span.traceId, spans: [span], rootOrFirst: span, failedRoot });
    else {
      group.failedRoot ??= failedRoot;
      group.spans.push(span);
      if (precedes(span, group.rootOrFirst)) group.rootOrFirst = span;
    }
  }
  return [...groups.values()];
}

/** The number of spans, and their bytes in statements. */
interface PortionSize {
  spans: number;
  bytes: number;
}

/**
 * Cuts items into portions, so a large request does not fill the queues of statements that all requests share. An
 * item above the limits is a portion of its own.
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

/** The size of a group; the resource and scope of its spans count once. */
export function sizeOfGroup({ spans, rootOrFirst: { resource, scope } }: TraceGroup): PortionSize {
  const shared = resource.bytes + (scope?.bytes ?? 0);
  return { spans: spans.length, bytes: spans.reduce((sum, span) => sum + ownBytes(span), shared) };
}

/** The bytes of a span in a statement, without its resource and scope. */
export function ownBytes(span: MappedSpan): number {
  return contentNames.reduce((sum, name) => sum + (fieldOf(name).otlp(span, "")?.length ?? 0), 0);
}
