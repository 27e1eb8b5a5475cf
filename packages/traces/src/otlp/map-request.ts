import { createHash } from "node:crypto";
import type { Instrumentation, SpanKind } from "../statuses.js";
import { maxLabel } from "../trace-fields.js";
import { hashOfVisit, visitAttribute } from "../visit.js";
import { jsonOfAttributes, storableText, textOfValue } from "./any-value.js";
import { findContent, labelsOf, type SomeLabels, titleOf, withLabelsOf } from "./content.js";
import { agentAttributes, evaluationEvent, isGeneric, langfuseFailure, unknownService } from "./conventions.js";
import { instrumentationOf, kindOfAttributes } from "./kind.js";
import {
  type Evaluation,
  evaluationName,
  evaluationOfJson,
  evaluationStart,
  type ModelUsage,
  usageOfAttributes,
} from "./model-usage.js";
import {
  type OtlpSpan,
  type ReadSpan,
  type Scope,
  type SpanEvent,
  type SpanLink,
  spanKinds,
  type TraceRequest,
} from "./read-json.js";
import { hex, idText, type KeyValue, maxMembersOfOne } from "./request.js";
import { isTime, isUnset, timeOfNanos } from "./time.js";

/** A resource or scope, stored once per trace. Its spans refer to it. */
export interface Context {
  /** The first 64 bits of the SHA-256 of `json`, as a signed decimal number. */
  readonly id: string;
  readonly json: string;
  readonly bytes: number;
}

/** Limits of a resource and a scope as JSON. Those of real SDKs have 1 to 4 KiB. */
const maxResourceBytes = 65_536;
const maxScopeBytes = 16_384;

/** Of one request, once per trace: no body has enough traces with a real SDK's resource to reach it. */
const maxContextBytes = 16 * 1_048_576;

/** The resources and scopes of one request, without duplicates and within {@link maxContextBytes}. */
class Contexts {
  private readonly byText = new Map<string, Context>();
  private readonly counted = new Set<string>();
  private countedBytes = 0;

  /** @returns undefined where `json` is over the limit */
  of(json: string, maxBytes: number): Context | undefined {
    const known = this.byText.get(json);
    if (known) return known;
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) return undefined;
    const id = createHash("sha256").update(json).digest().readBigInt64BE().toString();
    const context = { id, json, bytes };
    this.byText.set(json, context);
    return context;
  }

  /** Counts the contexts that are new to a trace; false where they do not fit. */
  take(traceId: string, resource: Context, scope: Context | null): boolean {
    const fresh = [resource, ...(scope ? [scope] : [])].filter(({ id }) => !this.counted.has(traceId + id));
    const bytes = fresh.reduce((sum, context) => sum + context.bytes, 0);
    if (this.countedBytes + bytes > maxContextBytes) return false;
    this.countedBytes += bytes;
    for (const { id } of fresh) this.counted.add(traceId + id);
    return true;
  }
}

/**
 * A span in Waymark's terms, with OpenTelemetry's ids in lower-case hexadecimal. Large fields are JSON in buffers, outside
 * of the heap: garbage collection does not copy them while they wait for the database.
 */
export interface MappedSpan {
  traceId: string;
  spanId: string;
  /** Null for a root span. */
  parentSpanId: string | null;
  /** Whether its flags say that its parent is another process's, which may send no spans here. */
  isLocalRoot: boolean;
  name: string;
  /** The trace's name, if this is a root of it: a generic one gives way to the user's words. Null for a generic one without. */
  title: string | null;
  status: "ok" | "error";
  kind: SpanKind;
  /** As `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  startedAt: string;
  endedAt: string | null;
  input: Buffer | null;
  output: Buffer | null;
  error: string | null;
  /** Everything else: an object with the members `attributes` and, at the end, `otel`. */
  extra: Buffer;
  /** The name of its service: the trace's agent, if this is its root span or a local root and no span tells one. */
  agentId: string;
  toldAgent: string | null;
  resource: Context;
  scope: Context | null;
  /** Null for a span that reports no model call. */
  usage: ModelUsage | null;
  evaluations: readonly Evaluation[];
  /** Its own, else those of its resource. */
  labels: SomeLabels | null;
  /** As `hashOfVisit` has it; null without a token, or with one that is no text or too long. */
  visit: string | null;
  /** Whether an agent made it: by its kind, a model call or labels of its own. */
  isOfAgent: boolean;
  /** What its instrumentation observes, where an account may leave the span out: below another one, neither failed nor an entry. */
  observes: Instrumentation | null;
  /** Whether its bytes are counted already. */
  isCounted?: boolean;
}

/** A mapped request: the valid spans, and the number of other spans by reason. */
export interface MappedRequest {
  spans: MappedSpan[];
  /** The number of spans by reason, a sentence without its full stop. */
  refused: ReadonlyMap<string, number>;
}

/** The limits of the trace API, in UTF-16 code units. */
const maxNameLength = 1_000;
const maxAgentLength = 255;

/** OTLP: "Empty value is equivalent to an unknown span name" (trace.proto). */
const unknownName = "unknown";

const statusError = 2;

/** `SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK` and `SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK` of trace.proto. */
const remoteParent = 0x300;

/** `SPAN_KIND_SERVER` and `SPAN_KIND_CONSUMER`: what a service was asked. */
const entryKinds: ReadonlySet<number> = new Set([2, 5]);

/** Bytes of a span's attributes, events and links as JSON. */
export const maxAttributesBytes = 1_048_576;

/** Bounds the memory of a request. 4 MiB hold as many spans of 140 bytes; real spans are larger. */
const maxSpans = 30_000;

const problems = {
  spans: `a request must not have more than ${maxSpans} spans`,
  resource: `the attributes of a resource must not take more than ${maxResourceBytes} bytes as JSON`,
  scope: `a scope must not take more than ${maxScopeBytes} bytes as JSON`,
  contexts: `resources and scopes, counted once for each trace, must not take more than ${maxContextBytes} bytes of a request`,
  times: "start_time_unix_nano and end_time_unix_nano must be whole numbers of 64 bits",
  members: `a span must not have more than ${maxMembersOfOne} attributes, events, links and values in lists`,
  extra: `attributes, events and links of a span must not take more than ${maxAttributesBytes} bytes as JSON`,
} as const;

interface ScopedSpans {
  spans: readonly ReadSpan[];
  service: string;
  labels: SomeLabels | null;
  resource: Context;
  scope: Context | null;
  observes: Instrumentation | null;
}

/** Counts the invalid and oversized spans. Yields between steps, so that other work can run. */
export function* mapRequest(request: TraceRequest): Generator<void, MappedRequest> {
  const contexts = new Contexts();
  const spans: MappedSpan[] = [];
  const refused = new Map<string, number>();
  const refuse = (problem: string) => refused.set(problem, (refused.get(problem) ?? 0) + 1);
  const all = yield* scopedSpansOf(request, contexts, refuse);
  const mostBytes = all.reduce((sum, { spans: { length }, resource, scope }) => {
    return sum + length * (resource.bytes + (scope?.bytes ?? 0));
  }, 0);
  const isCounted = mostBytes > maxContextBytes;
  for (const scoped of all) {
    for (const span of scoped.spans) {
      yield;
      const read = readNow(span);
      if (spans.length === maxSpans) {
        refuse(problems.spans);
        continue;
      }
      const mapped = read ? mapSpan(read, scoped) : problems.members;
      if (typeof mapped === "string") refuse(mapped);
      else if (isCounted && !contexts.take(mapped.traceId, mapped.resource, mapped.scope)) refuse(problems.contexts);
      else spans.push(mapped);
    }
  }
  return { spans, refused };
}

/** Reads refused spans too: a body that is malformed in one of them is refused as a whole. */
function readNow(span: ReadSpan): OtlpSpan | null {
  return typeof span === "function" ? span() : span;
}

function* scopedSpansOf(
  { resourceSpans }: TraceRequest,
  contexts: Contexts,
  refuse: (problem: string) => void,
): Generator<void, ScopedSpans[]> {
  const all: ScopedSpans[] = [];
  for (const { resource: own, scopeSpans } of resourceSpans) {
    const attributes = own?.attributes ?? [];
    const resource = contexts.of(jsonOfAttributes(attributes), maxResourceBytes);
    const service = findText(attributes, "service.name") || unknownService;
    const labels = labelsOf(attributes);
    for (const { scope: ownScope, spans } of scopeSpans) {
      if (spans.length === 0) continue;
      const scope = ownScope ? contexts.of(jsonOfScope(ownScope), maxScopeBytes) : null;
      if (resource && scope !== undefined)
        all.push({ spans, service, labels, resource, scope, observes: instrumentationOf(ownScope?.name ?? "") });
      else
        for (const span of spans) {
          readNow(span);
          refuse(resource ? problems.scope : problems.resource);
          yield;
        }
      yield;
    }
    yield;
  }
  return all;
}

/** The span, or the reason why it cannot be stored. */
function mapSpan(span: OtlpSpan, { service, labels, resource, scope, observes }: ScopedSpans): MappedSpan | string {
  const [traceId, spanId] = [idText(span.traceId, 16), idText(span.spanId, 8)];
  if (!traceId) return "trace_id must be 16 bytes that are not all zero";
  if (!spanId) return "span_id must be 8 bytes that are not all zero";
  const parentSpanId = idText(span.parentSpanId, 8);
  if (parentSpanId === undefined) return "parent_span_id must be empty or 8 bytes";
  if (!isTime(span.startTimeUnixNano) || !isTime(span.endTimeUnixNano)) return problems.times;
  const isRoot = parentSpanId === "";
  const isLocalRoot = !isRoot && (span.flags & remoteParent) === remoteParent;
  const content = findContent(span);
  const isError = isFailed(span);
  const end = span.endTimeUnixNano;
  const otel = jsonOfOtel(span, spanId, content.events);
  const extra = Buffer.from(`{"attributes":${jsonOfAttributes(content.attributes)},"otel":${otel}}`);
  if (extra.length > maxAttributesBytes) return problems.extra;
  const name = storableText(span.name, maxNameLength) || unknownName;
  const kind = kindOfAttributes(span.attributes);
  const usage = usageOfAttributes(span.attributes);
  const ownLabels = labelsOf(span.attributes);
  const evaluations = evaluationsOf(span, spanId);
  const isAgentKind = kind !== "other" && kind !== "chain";
  const isOfAgent = isAgentKind || usage !== null || ownLabels !== null || evaluations.length > 0;
  const isEntry = isRoot || isLocalRoot || entryKinds.has(span.kind);
  return {
    traceId,
    spanId,
    parentSpanId: parentSpanId || null,
    isLocalRoot,
    name,
    title: isGeneric(name) ? ((isRoot || isLocalRoot) && titleOf(content.input)) || null : name,
    status: isError ? "error" : "ok",
    kind,
    isOfAgent,
    observes: isOfAgent || isEntry || isError ? null : observes,
    startedAt: timeOfNanos(isUnset(span.startTimeUnixNano) ? end : span.startTimeUnixNano),
    endedAt: isUnset(end) ? null : timeOfNanos(end),
    input: content.input === null ? null : Buffer.from(content.input),
    output: content.output === null ? null : Buffer.from(content.output),
    error: isError ? errorOf(span) : null,
    extra,
    agentId: storableText(service, maxAgentLength),
    toldAgent: toldAgentOf(span.attributes),
    resource,
    scope,
    usage,
    evaluations,
    labels: withLabelsOf(ownLabels, labels),
    visit: visitOf(span.attributes),
  };
}

function visitOf(attributes: readonly KeyValue[]): string | null {
  const token = findText(attributes, visitAttribute);
  return token === "" || token.length > maxLabel ? null : hashOfVisit(token);
}

/** Of one span; a trace has as many scores. */
const maxEvaluations = 100;

/** Judgements come as events of the span that they judge, or as its attributes. */
function evaluationsOf({ attributes, events }: OtlpSpan, spanId: string): readonly Evaluation[] {
  const said = events.filter(({ name }) => name === evaluationEvent).slice(0, maxEvaluations);
  const own = attributes.some(({ key }) => key === evaluationName) ? [{ attributes, timeUnixNano: null }] : [];
  return [...own, ...said].flatMap(({ attributes: all, timeUnixNano: time }) => {
    const told = all.filter(({ key }) => key.startsWith(evaluationStart)).slice(0, maxEvaluations);
    const at = time && isTime(time) ? timeOfNanos(time) : "";
    return evaluationOfJson(spanId, at, jsonOfAttributes(told)) ?? [];
  });
}

function isFailed({ status, attributes }: OtlpSpan): boolean {
  const { level, failed } = langfuseFailure;
  return status?.code === statusError || findText(attributes, level) === failed;
}

function errorOf({ status, attributes: all, events }: OtlpSpan): string | null {
  const message = (status?.code === statusError && status.message) || findText(all, langfuseFailure.message);
  if (message) return storableText(message);
  const exception = events.findLast(({ name }) => name === "exception");
  return exception ? exceptionError(exception.attributes) : null;
}

export function exceptionError(attributes: readonly KeyValue[]): string | null {
  return storableText(findText(attributes, "exception.message") || findText(attributes, "exception.type")) || null;
}

function toldAgentOf(attributes: readonly KeyValue[]): string | null {
  for (const name of agentAttributes) {
    const agent = storableText(findText(attributes, name), maxAgentLength);
    if (agent !== "") return agent;
  }
  return null;
}

/** OpenTelemetry's own fields as a JSON object, without absent ones. */
function jsonOfOtel(span: OtlpSpan, spanId: string, events: readonly SpanEvent[]): string {
  let json = `{"span_id":"${spanId}"`;
  const kind = spanKinds[span.kind];
  if (span.kind !== 0 && kind) json += `,"kind":"${kind.toLowerCase()}"`;
  if (span.traceState !== "") json += `,"trace_state":${JSON.stringify(span.traceState)}`;
  if (span.status?.message && span.status.code !== statusError) {
    json += `,"status_message":${JSON.stringify(span.status.message)}`;
  }
  if (events.length > 0) json += `,"events":[${events.map(jsonOfEvent).join(",")}]`;
  if (span.links.length > 0) json += `,"links":[${span.links.map(jsonOfLink).join(",")}]`;
  if (span.droppedAttributesCount) json += `,"dropped_attributes_count":${span.droppedAttributesCount}`;
  if (span.droppedEventsCount) json += `,"dropped_events_count":${span.droppedEventsCount}`;
  if (span.droppedLinksCount) json += `,"dropped_links_count":${span.droppedLinksCount}`;
  return `${json}}`;
}

function jsonOfEvent({ name, timeUnixNano, attributes }: SpanEvent): string {
  const time = isTime(timeUnixNano) && !isUnset(timeUnixNano) ? `"${timeOfNanos(timeUnixNano)}"` : "null";
  return `{"name":${JSON.stringify(name)},"time":${time},"attributes":${jsonOfAttributes(attributes)}}`;
}

function jsonOfLink({ traceId, spanId, traceState, attributes }: SpanLink): string {
  const state = traceState === "" ? "" : `,"trace_state":${JSON.stringify(traceState)}`;
  return `{"trace_id":"${hex(traceId)}","span_id":"${hex(spanId)}"${state},"attributes":${jsonOfAttributes(attributes)}}`;
}

function jsonOfScope({ name, version, attributes }: Scope): string {
  const more = attributes.length > 0 ? `,"attributes":${jsonOfAttributes(attributes)}` : "";
  return `{"name":${JSON.stringify(name)},"version":${JSON.stringify(version)}${more}}`;
}

function findText(attributes: readonly KeyValue[], name: string): string {
  return textOfValue(attributes.find(({ key }) => key === name)?.value) ?? "";
}

/**
 * Derives Waymark's id of an OpenTelemetry span, so that a parent's id is known before the parent arrives and a repeated
 * span has the same id. It is a UUID version 8 (RFC 9562, 5.8) of the trace id's first 48 bits, which sort it by time, and
 * the span's 64 bits: 12 after the version, 52 at the end.
 * @param traceId Waymark's id of the trace, a UUID
 * @param spanId 16 digits of lower-case hexadecimal
 */
export function spanUuid(traceId: string, spanId: string): string {
  return `${traceId.slice(0, 13)}-8${spanId.slice(0, 3)}-800${spanId.slice(3, 4)}-${spanId.slice(4)}`;
}
