import type { TraceLabels } from "./api-types.js";
import { WaymarkError } from "./errors.js";
import { endBytes, livingParent, merged, openedBytes, type SpanEnd, type SpanRecord } from "./span-record.js";
import { byteLength } from "./texts.js";
import { newId, type RemoteSpan } from "./trace-context.js";
import { type Job, settleRecord, type TraceEnd, TraceQueue, type TraceQueueDeps } from "./trace-queue.js";

/** A run that several services record by OpenTelemetry's ids. */
export interface SharedTrace {
  readonly agentId: string;
  readonly labels: TraceLabels;
  /** A JSON object. */
  readonly metadata: string | undefined;
  readonly startedAt: string;
  readonly traceId: string;
  /** Of the span that stands for this service's part. */
  readonly rootId: string;
  /** The span of the other service. */
  readonly parentId: string | undefined;
}

export function shareTrace(
  remote: RemoteSpan | undefined,
  facts: Omit<SharedTrace, keyof RemoteSpan | "rootId" | "parentId">,
): SharedTrace {
  return { ...facts, traceId: remote?.traceId ?? newId(16), rootId: newId(8), parentId: remote?.spanId };
}

/** The service's limit of a resource is 64 KiB. */
const maxMetadataBytes = 60_000;

/**
 * Sends a trace as OTLP, so the service joins it with what others send of the same OpenTelemetry id, in any order. Spans go out
 * once they have ended. The first span of the trace's own name stands for the trace, else one that is made at its end.
 */
export class SharedQueue extends TraceQueue {
  private root: SpanRecord | undefined;
  private traceEnd: TraceEnd | undefined;

  constructor(
    deps: TraceQueueDeps,
    name: string,
    private readonly shared: SharedTrace,
  ) {
    super(deps, name, { id: shared.traceId });
  }

  override get created(): Promise<string> {
    return Promise.resolve(this.shared.traceId);
  }

  override add(record: SpanRecord): void {
    record.spanId = newId(8);
    if (!this.root && record.parent === undefined && record.name === this.name) {
      this.root = record;
      record.spanId = this.shared.rootId;
    }
  }

  override endSpan(record: SpanRecord, end: SpanEnd): void {
    record.end = end;
    if (record.state === "lost") return;
    record.bytes += endBytes(end);
    if (record === this.root) this.sendRoot();
    else this.send(record);
  }

  override endTrace(end: TraceEnd): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.traceEnd = end;
    this.sendRoot();
  }

  override next(): Job | undefined {
    const job = super.next();
    return job && { ...job, path: "/v1/traces", isWhole: true };
  }

  override bodyOf({ records }: Job): string {
    const { agentId, metadata = "{}" } = this.shared;
    const isLarge = byteLength(metadata) > maxMetadataBytes;
    const own = isLarge ? { metadata } : (JSON.parse(metadata) as object);
    const resource = { attributes: toKeyValues({ "service.name": agentId, ...(isLarge ? {} : own) }) };
    const spans = records.map((record) => this.spanOf(record, isLarge && record === this.root ? own : {}));
    return JSON.stringify({
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "@waymark/client" }, spans }] }],
    });
  }

  override succeed(job: Job, answer: unknown): void {
    const { rejectedSpans, errorMessage } =
      (answer as { partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown } }).partialSuccess ?? {};
    const rejected = Number(rejectedSpans ?? 0);
    if (rejected > 0) this.deps.lose(this.name, { spans: rejected }, new WaymarkError(String(errorMessage)));
    this.deps.sent.spans -= rejected;
    if (this.root && job.records.includes(this.root)) this.deps.sent.traces++;
    super.succeed(job, { span_ids: job.records.map(({ spanId }) => spanId) });
  }

  private send(record: SpanRecord): void {
    if (this.deps.capacity.isFull()) {
      this.deps.lose(this.name, { spans: 1 }, new WaymarkError("the queue is full"));
      settleRecord(record, undefined);
    } else super.add(record);
  }

  /** Once the trace and the span that stands for it have ended. */
  private sendRoot(): void {
    if (!this.traceEnd || (this.root && !this.root.end)) return;
    const { status, ended_at: endedAt } = this.traceEnd;
    const isFailed = status === "error" || status === "timeout";
    const root = this.root ?? this.makeRoot();
    const error = root.end?.error ?? (status === "timeout" ? "timeout" : null);
    const known = { output: undefined, attributes: undefined, ...root.end, error };
    root.end = { ...known, endedAt, status: isFailed ? "error" : (root.end?.status ?? "ok") };
    this.root = root;
    this.send(root);
  }

  private makeRoot(): SpanRecord {
    const { startedAt, rootId: spanId } = this.shared;
    const facts = {
      kind: "agent",
      parent: undefined,
      input: undefined,
      attributes: undefined,
      end: undefined,
    } as const;
    const sending = { endsApart: false, state: "waiting", id: undefined, onSettled: () => undefined } as const;
    return { name: this.name, startedAt, spanId, ...facts, ...sending, bytes: openedBytes(this.name) };
  }

  private spanOf(record: SpanRecord, more: object): object {
    const { traceId, rootId, parentId, agentId, labels } = this.shared;
    const { name, kind, startedAt, input, attributes, end, spanId } = record;
    const isRoot = record === this.root;
    const parentSpanId = isRoot ? parentId : (livingParent(record)?.spanId ?? rootId);
    // A root without a kind of its own is a run of an agent, or the service would take the trace for noise.
    const told = isRoot && (kind === undefined || kind === "other" || kind === "chain") ? "agent" : kind;
    const { session_id, user_id, environment, release, tags } = isRoot ? labels : {};
    const all = {
      ...(JSON.parse(merged(attributes, end?.attributes) ?? "{}") as object),
      "openinference.span.kind": told,
      "traceloop.entity.input": input,
      "traceloop.entity.output": end?.output,
      "gen_ai.agent.name": isRoot ? agentId : undefined,
      "session.id": session_id,
      "user.id": user_id,
      "deployment.environment.name": environment,
      "service.version": release,
      "tag.tags": tags,
      ...more,
    };
    return {
      traceId,
      spanId,
      parentSpanId,
      name,
      kind: 1,
      // Whether the parent is another service's: SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK, and with IS_REMOTE_MASK.
      flags: isRoot && parentId ? 0x301 : 0x101,
      startTimeUnixNano: nanosOf(startedAt),
      endTimeUnixNano: nanosOf(end?.endedAt ?? startedAt),
      attributes: toKeyValues(all),
      status: end?.status === "error" ? { code: 2, message: end.error ?? "" } : { code: 1 },
    };
  }
}

/** @param time as `YYYY-MM-DDTHH:MM:SS.ffffffZ` */
function nanosOf(time: string): string {
  return `${Date.parse(`${time.slice(0, 19)}Z`) / 1_000}${time.slice(20, 26)}000`;
}

function toKeyValues(values: object): object[] {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.map(([key, value]) => ({ key, value: toAnyValue(value) }));
}

function toAnyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toAnyValue) } };
  return value === null ? {} : { kvlistValue: { values: toKeyValues(value as object) } };
}
