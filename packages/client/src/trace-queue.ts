import { Delivery, type DeliveryDeps, type TraceEnd } from "./delivery.js";
import { endBytes, type SpanEnd, type SpanRecord } from "./span-record.js";
import { createStoppable } from "./stoppable.js";

export interface TraceQueueDeps extends DeliveryDeps {
  onWork(queue: TraceQueue): void;
  onIdle(queue: TraceQueue): void;
}

/** Queues the records of one trace and sends one request at a time, so that parents are stored before their children. */
export class TraceQueue {
  /** The service's id; undefined if the trace could not be created. */
  readonly created: Promise<string | undefined>;
  /** Aborts current and later requests; their records are lost. */
  readonly giveUp: (reason: unknown) => void;
  private readonly delivery: Delivery;
  private waiting: SpanRecord[] = [];
  private waitingBytes = 0;
  private closing: SpanRecord[] = [];
  private ends: TraceEnd[] = [];
  private last: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;

  constructor(
    private readonly deps: TraceQueueDeps,
    trace: { text: string; bytes: number },
  ) {
    const { transport, stop } = createStoppable(deps.transport);
    this.giveUp = stop;
    this.delivery = new Delivery({ ...deps, transport }, trace);
    this.created = this.delivery.created;
    deps.onWork(this);
  }

  get hasLosses(): boolean {
    return this.delivery.hasLosses;
  }

  add(record: SpanRecord): void {
    const { capacity, onWork, maxBatchSpans, maxBatchBytes } = this.deps;
    this.waiting.push(record);
    this.waitingBytes += record.bytes;
    capacity.take(1, record.bytes);
    onWork(this);
    if (this.waiting.length >= maxBatchSpans || this.waitingBytes >= maxBatchBytes) void this.drain();
  }

  endSpan(record: SpanRecord, end: SpanEnd): void {
    if (record.state === "lost") return;
    record.end = end;
    const bytes = endBytes(end);
    if (record.state === "waiting") {
      record.bytes += bytes;
      this.deps.capacity.take(0, bytes);
      return;
    }
    this.closing.push(record);
    this.deps.capacity.take(1, bytes);
    this.deps.onWork(this);
  }

  endTrace(end: TraceEnd): void {
    this.ends.push(end);
    this.deps.capacity.take(1, 0);
    this.deps.onWork(this);
  }

  /** Sends the queue; resolves when all of it is stored or lost. */
  drain(): Promise<void> {
    this.next ??= this.last.then(() => {
      this.next = undefined;
      this.last = this.send();
      return this.last;
    });
    return this.next;
  }

  private async send(): Promise<void> {
    const [opened, closed, ended] = [this.waiting, this.closing, this.ends];
    [this.waiting, this.closing, this.ends, this.waitingBytes] = [[], [], [], 0];
    await this.delivery.sendSpans(opened);
    await this.delivery.sendSpanEnds(closed);
    // Last, because the alert of a failed trace names a failing span.
    for (const end of ended) await this.delivery.sendTraceEnd(end);
    await this.created;
    if (this.waiting.length + this.closing.length + this.ends.length === 0) this.deps.onIdle(this);
  }
}
