import type { TraceStatus } from "./api-types.js";
import type { Capacity } from "./capacity.js";
import { saysTraceIsFull, sortOut } from "./refusals.js";
import type { Counts } from "./reports.js";
import { endBytes, type SpanEnd, type SpanRecord, toBatchText, toEndText } from "./span-record.js";
import { newIdempotencyKey } from "./transport.js";

export interface TraceEnd {
  status: TraceStatus;
  ended_at: string;
}

/** A request of one trace. Its repeats carry the same key and the same body. */
export interface Job {
  readonly queue: TraceQueue;
  readonly kind: "create" | "batch" | "span end" | "trace end";
  readonly records: readonly SpanRecord[];
  readonly method: "POST" | "PATCH";
  readonly path: string;
  readonly isWhole?: boolean;
  readonly idempotencyKey?: string;
  attempts: number;
  firstAtMs: number;
  dueAtMs: number;
}

export interface TraceQueueDeps {
  capacity: Capacity;
  sent: Counts;
  lose(traceName: string, lost: Partial<Counts>, cause: unknown): void;
  /** The queue has a request that may leave: at once, or with others after a while. */
  onWork(queue: TraceQueue, isUrgent: boolean): void;
  maxBatchSpans: number;
  maxBatchBytes: number;
}

/**
 * The records of one trace, in the order that the service needs: the trace, parents before their children or with them, and the
 * end of the trace last, because the alert of a failed trace names a failing span.
 */
export class TraceQueue {
  /** Records that were added, and those of them that are stored or lost. */
  readonly counts = { added: 0, settled: 0 };
  private state: "new" | "creating" | "stored" | "lost" = "new";
  private id: string | undefined;
  /** Why this trace takes no further spans. */
  private refusal: unknown;
  private waiting: SpanRecord[] = [];
  private waitingBytes = 0;
  private parts: SpanRecord[][] = [];
  private closing: SpanRecord[] = [];
  private end: TraceEnd | undefined;
  protected isEnded = false;
  private isBatching = false;
  private inFlight = 0;
  private creation: Promise<string | undefined> | undefined;
  private onCreated: (id: string | undefined) => void = () => undefined;

  /** @param trace its JSON, or the id of one that exists */
  constructor(
    protected readonly deps: TraceQueueDeps,
    readonly name: string,
    private readonly trace: { text: string; bytes: number } | { id: string },
  ) {
    if ("id" in trace) [this.id, this.state] = [trace.id, "stored"];
    else {
      this.take(1, trace.bytes);
      deps.onWork(this, true);
    }
  }

  /** The service's id; undefined if the trace could not be created. */
  get created(): Promise<string | undefined> {
    this.creation ??= new Promise((resolve) => {
      if (this.state === "stored" || this.state === "lost") resolve(this.id);
      else this.onCreated = resolve;
    });
    return this.creation;
  }

  add(record: SpanRecord): void {
    if (this.refusal !== undefined) {
      this.deps.lose(this.name, { spans: 1 }, this.refusal);
      settleRecord(record, undefined);
      return;
    }
    this.waiting.push(record);
    this.waitingBytes += record.bytes;
    this.take(1, record.bytes);
    const { maxBatchSpans, maxBatchBytes, onWork } = this.deps;
    onWork(this, this.waiting.length >= maxBatchSpans || this.waitingBytes >= maxBatchBytes);
  }

  endSpan(record: SpanRecord, end: SpanEnd): void {
    record.end = end;
    if (record.state === "lost") return;
    const bytes = endBytes(end);
    record.endsApart = record.state !== "waiting";
    if (!record.endsApart) {
      record.bytes += bytes;
      this.waitingBytes += bytes;
      this.take(0, bytes);
      return;
    }
    this.take(1, bytes);
    // While its batch is on its way, `settleSpan` queues the end.
    if (record.state === "stored") this.close(record);
  }

  /** Only the first end counts. */
  endTrace(end: TraceEnd): void {
    if (this.isEnded || this.state === "lost") return;
    this.isEnded = true;
    this.end = end;
    this.take(1, 0);
    this.deps.onWork(this, true);
  }

  /** The next request, if one may leave now. */
  next(): Job | undefined {
    if (this.state === "new") {
      this.state = "creating";
      return this.leaving("create", "POST", "/traces", []);
    }
    if (this.state !== "stored") return undefined;
    const path = `/traces/${this.id}`;
    if (!this.isBatching && this.parts.length + this.waiting.length > 0) {
      this.isBatching = true;
      return this.leaving("batch", "POST", `${path}/spans/batch`, this.parts.shift() ?? this.cutBatch());
    }
    const closed = this.closing.shift();
    if (closed) return this.leaving("span end", "PATCH", `${path}/spans/${closed.id}`, [closed]);
    if (this.end && this.inFlight === 0) return this.leaving("trace end", "PATCH", path, []);
    return undefined;
  }

  bodyOf({ kind, records }: Job): string {
    if (kind === "create") return "text" in this.trace ? this.trace.text : "";
    if (kind === "batch") return toBatchText(records);
    const [record] = records;
    return record?.end ? toEndText(record.end) : JSON.stringify(this.end);
  }

  succeed(job: Job, answer: unknown): void {
    this.inFlight--;
    if (job.kind === "create") {
      this.deps.sent.traces++;
      this.settleCreation(String((answer as { trace_id: string }).trace_id));
    } else if (job.kind === "batch") {
      this.isBatching = false;
      this.deps.sent.spans += job.records.length;
      const { span_ids } = answer as { span_ids: string[] };
      for (const [index, record] of job.records.entries()) this.settleSpan(record, span_ids[index]);
    } else this.settleEnd(job.records[0]);
    this.deps.onWork(this, this.isUrgent());
  }

  /** The request is given up; what it carried is lost, unless a part of it can go again. */
  fail(job: Job, error: unknown): void {
    this.inFlight--;
    if (job.kind === "create") {
      this.deps.lose(this.name, { traces: 1 }, error);
      this.settleCreation(undefined);
      this.loseRest(error);
    } else if (job.kind === "batch") {
      this.isBatching = false;
      const { refused, again } = sortOut(job.records, error);
      this.parts.unshift(...again);
      this.loseSpans(refused, error);
      if (saysTraceIsFull(error)) this.refuseSpans(error);
    } else {
      this.deps.lose(this.name, job.kind === "trace end" ? { traces: 1 } : { spans: 1 }, error);
      this.settleEnd(job.records[0]);
    }
    this.deps.onWork(this, this.isUrgent());
  }

  /** Loses all that waits. Its requests on their way have failed before. */
  loseRest(cause: unknown): void {
    const isLost = this.state === "lost";
    if (this.state === "new") {
      this.deps.lose(this.name, { traces: 1 }, cause);
      this.settleCreation(undefined);
    } else if (this.end && !isLost) this.deps.lose(this.name, { traces: 1 }, cause);
    if (this.end) this.settleEnd(undefined);
    const closing = this.closing.splice(0);
    if (closing.length > 0) this.deps.lose(this.name, { spans: closing.length }, cause);
    for (const record of closing) this.settleEnd(record);
    if (this.state === "lost") this.refuseSpans(cause);
    else this.loseSpans(this.takeWaiting(), cause);
  }

  private refuseSpans(cause: unknown): void {
    this.refusal = cause;
    this.loseSpans(this.takeWaiting(), cause);
  }

  private takeWaiting(): SpanRecord[] {
    this.waitingBytes = 0;
    return [...this.parts.splice(0).flat(), ...this.waiting.splice(0)];
  }

  private leaving(kind: Job["kind"], method: Job["method"], path: string, records: readonly SpanRecord[]): Job {
    this.inFlight++;
    const key = method === "POST" && { idempotencyKey: newIdempotencyKey() };
    return { queue: this, kind, records, method, path, ...key, attempts: 0, firstAtMs: 0, dueAtMs: 0 };
  }

  /** A span that ended meanwhile is larger and goes out with its end. */
  private cutBatch(): SpanRecord[] {
    const { maxBatchSpans, maxBatchBytes } = this.deps;
    let [count, bytes] = [0, 0];
    for (const record of this.waiting) {
      if (count > 0 && (count >= maxBatchSpans || bytes + record.bytes > maxBatchBytes)) break;
      count++;
      bytes += record.bytes;
    }
    this.waitingBytes -= bytes;
    const batch = this.waiting.splice(0, count);
    for (const record of batch) record.state = "sending";
    return batch;
  }

  private settleCreation(id: string | undefined): void {
    this.id = id;
    this.state = id === undefined ? "lost" : "stored";
    if ("bytes" in this.trace) this.give(this.trace.bytes);
    this.onCreated(id);
  }

  private settleSpan(record: SpanRecord, id: string | undefined): void {
    this.give(record.bytes);
    settleRecord(record, id);
    if (!record.endsApart) return;
    if (id === undefined) this.settleEnd(record);
    else this.close(record);
  }

  /** Of a span, or of the trace. */
  private settleEnd(record: SpanRecord | undefined): void {
    if (!record) this.end = undefined;
    this.give(record?.end ? endBytes(record.end) : 0);
  }

  private close(record: SpanRecord): void {
    this.closing.push(record);
    this.deps.onWork(this, false);
  }

  private loseSpans(records: readonly SpanRecord[], cause: unknown): void {
    if (records.length > 0) this.deps.lose(this.name, { spans: records.length }, cause);
    for (const record of records) this.settleSpan(record, undefined);
  }

  private isUrgent(): boolean {
    return this.parts.length > 0 || this.isEnded || this.waiting.length >= this.deps.maxBatchSpans;
  }

  private take(items: number, bytes: number): void {
    this.counts.added += items;
    this.deps.capacity.take(items, bytes);
  }

  private give(bytes: number): void {
    this.counts.settled++;
    this.deps.capacity.give(1, bytes);
  }
}

export function settleRecord(record: SpanRecord, id: string | undefined): void {
  record.state = id === undefined ? "lost" : "stored";
  record.id = id;
  record.input = undefined;
  record.attributes = undefined;
  record.onSettled(id);
}
