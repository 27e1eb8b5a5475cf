import { contentNames, fieldOf } from "@waymark/traces";
import { agentIn, type MappedSpan, spanUuid, type TraceName, toldAgentOf } from "@waymark/traces/otlp";
import type { StoredTrace } from "./find-traces.query.js";
import { labelsJson, mergeLabels, type SpanLabels, spanLabels } from "./find-traces.query.js";
import type { TraceUpdate } from "./update-trace.query.js";

/** The spans of one trace in one request, and those that decide its own members. */
export interface TraceGroup {
  /** OpenTelemetry's id, in hexadecimal. */
  otelTraceId: string;
  spans: MappedSpan[];
  /** The root span, without one the first local root, or the first span; see {@link precedes}. */
  rootOrFirst: MappedSpan;
  failedRoot: MappedSpan | undefined;
  hasFailedLocalRoot: boolean;
  labels: SpanLabels | null;
  /** As `toldAgentOf` has it. */
  toldAgent: string | null;
  /** Of its first span with one. */
  visit: string | null;
}

/** Groups spans by trace, in the order of the first span of each trace. */
export function groupByTrace(spans: readonly MappedSpan[]): TraceGroup[] {
  const groups = new Map<string, TraceGroup>();
  for (const span of spans) {
    const group = groups.get(span.traceId);
    const failedRoot = isRoot(span) && span.status === "error" ? span : undefined;
    const hasFailedLocalRoot = span.isLocalRoot && span.status === "error";
    const labels = spanLabels(span.labels, isRoot(span));
    if (!group) {
      const ofGroup = { rootOrFirst: span, failedRoot, hasFailedLocalRoot, labels, toldAgent: null, visit: span.visit };
      groups.set(span.traceId, { otelTraceId: span.traceId, spans: [span], ...ofGroup });
    } else {
      group.failedRoot ??= failedRoot;
      group.hasFailedLocalRoot ||= hasFailedLocalRoot;
      group.labels = mergeLabels(group.labels, labels);
      group.visit ??= span.visit;
      group.spans.push(span);
      if (precedes(span, group.rootOrFirst)) group.rootOrFirst = span;
    }
  }
  for (const group of groups.values()) group.toldAgent = toldAgentOf(group.spans);
  return [...groups.values()];
}

/** Whether a group's agent comes before the one that spans told of the stored trace. */
export function retellsAgent(stored: StoredTrace, { toldAgent }: TraceGroup): boolean {
  return toldAgent !== null && (stored.toldAgent === null || toldAgent < stored.toldAgent);
}

/** The agents that a trace may have, the first that the plan allows: the service where spans below its root tell another. */
export function agentsOf({ toldAgent, rootOrFirst }: TraceGroup, stored?: StoredTrace | "deleted"): readonly string[] {
  const known = (stored !== "deleted" && stored?.toldAgent) || null;
  const told = known !== null && (toldAgent === null || known < toldAgent) ? known : toldAgent;
  if (told === null) return [rootOrFirst.agentId];
  const { agentId, isOfRoot } = agentIn(told);
  return isOfRoot ? [agentId] : [agentId, rootOrFirst.agentId];
}

/** The number of spans, and their bytes in statements. */
interface PortionSize {
  spans: number;
  bytes: number;
}

/** So a large request does not fill the queues that all share. An item above the limits is a portion of its own. */
export function* inPortions<Item>(
  items: Iterable<Item>,
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

export function isRoot(span: MappedSpan): boolean {
  return span.parentSpanId === null;
}

/** Root spans describe their trace rather than local roots, and these rather than other spans. */
function rankOf(span: MappedSpan): number {
  if (isRoot(span)) return 2;
  return span.isLocalRoot ? 1 : 0;
}

/**
 * Whether a span describes its trace rather than another span of at most its rank. Roots go by start and id, other spans
 * by start and service. `update-trace.query.ts` uses the same order.
 */
function precedes(a: MappedSpan, b: MappedSpan): boolean {
  if (rankOf(a) !== rankOf(b)) return rankOf(a) > rankOf(b);
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt;
  if (rankOf(a) > 0) return a.spanId < b.spanId;
  return isBefore([a.agentId], [b.agentId]);
}

/** Whether a span precedes the one that describes the stored trace. The update checks this again under its lock. */
export function changesTrace(stored: StoredTrace, span: MappedSpan): boolean {
  const storedRank = stored.rootSpanId === null ? 0 : stored.isRootLocal ? 1 : 2;
  if (rankOf(span) !== storedRank) return rankOf(span) > storedRank;
  if (stored.rootSpanId === null)
    return isBefore(
      [span.startedAt, stored.toldAgent === null ? span.agentId : ""],
      [stored.startedAt, stored.toldAgent === null ? stored.agentId : ""],
    );
  return isBefore([span.startedAt, spanUuid(stored.id, span.spanId)], [stored.startedAt, stored.rootSpanId]);
}

/** Whether a root of the group is the first failed one of its trace and kind. The update checks this again under its lock. */
export function failsTrace(stored: StoredTrace, { failedRoot, hasFailedLocalRoot }: TraceGroup): boolean {
  if (hasFailedLocalRoot && !stored.hasFailedLocalRoot) return true;
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
 * @param how with the id of the alert, if one is allowed, the name, if it changes, and the agent that counts, null where it stays,
 * or undefined where all agents do
 */
export function traceUpdateOf(
  accountId: string,
  { id }: StoredTrace,
  { rootOrFirst: span, failedRoot, hasFailedLocalRoot, labels, toldAgent }: TraceGroup,
  how: { alertId: string | null; name: TraceName | undefined; agentId: string | null | undefined },
): TraceUpdate {
  const { startedAt, endedAt, resource, traceId } = span;
  const takesTold = how.agentId === undefined;
  const agentId = how.agentId === undefined ? span.agentId : how.agentId;
  const ofSpans = { name: how.name ?? null, toldAgent, takesTold, labels: labelsJson(labels) };
  const update = { accountId, traceId: id, agentId, startedAt, ...ofSpans };
  if (rankOf(span) === 0) return { ...update, root: null };
  const root = {
    spanId: spanUuid(id, span.spanId),
    isLocal: span.isLocalRoot,
    failedSpanId: failedRoot ? spanUuid(id, failedRoot.spanId) : null,
    hasFailedLocal: hasFailedLocalRoot,
    endedAt,
    metadata: `{"otel_trace_id":"${traceId}","resource":${resource.json}}`,
    alertId: how.alertId,
  } as const;
  return { ...update, root };
}
