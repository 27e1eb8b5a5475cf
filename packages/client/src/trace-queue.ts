import { Delivery, type DeliveryDeps, type TraceEnd } from "./delivery.js";
import { endBytes, type SpanEnd, type SpanRecord } from "./span-record.js";
import { createStoppable } from "./stoppable.js";

export interface TraceQueueDeps extends DeliveryDeps {
  onWork(queue: TraceQueue): void;
  onIdle(queue: TraceQueue): void;
}

/** Queues the records of one trace and sends one request at a time, so that parents are stored before their children. */
export interface TraceQueue {
  /** The service's id; undefined if the trace could not be created. */
  readonly created: Promise<string | undefined>;
  readonly hasLosses: boolean;
  add(record: SpanRecord): void;
  endSpan(record: SpanRecord, end: SpanEnd): void;
  endTrace(end: TraceEnd): void;
  drain(): Promise<void>;
  /** Aborts current and later requests; their records are lost. */
  giveUp(reason: unknown): void;
}

export function createTraceQueue(deps: TraceQueueDeps, trace: { text: string; bytes: number }): TraceQueue {
  const { capacity } = deps;
  const { transport, stop } = createStoppable(deps.transport);
  const delivery = new Delivery({ ...deps, transport }, trace);
  let waiting: SpanRecord[] = [];
  let waitingBytes = 0;
  let closing: SpanRecord[] = [];
  let ends: TraceEnd[] = [];
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  async function send(): Promise<void> {
    const [opened, closed, ended] = [waiting, closing, ends];
    [waiting, closing, ends, waitingBytes] = [[], [], [], 0];
    await delivery.sendSpans(opened);
    await delivery.sendSpanEnds(closed);
    // Last, because the alert of a failed trace names a failing span.
    for (const end of ended) await delivery.sendTraceEnd(end);
    await delivery.created;
    if (waiting.length + closing.length + ends.length === 0) deps.onIdle(queue);
  }

  const queue: TraceQueue = {
    created: delivery.created,
    get hasLosses() {
      return delivery.hasLosses;
    },
    add(record) {
      waiting.push(record);
      waitingBytes += record.bytes;
      capacity.take(1, record.bytes);
      deps.onWork(queue);
      if (waiting.length >= deps.maxBatchSpans || waitingBytes >= deps.maxBatchBytes) void queue.drain();
    },
    endSpan(record, end) {
      if (record.state === "lost") return;
      record.end = end;
      const bytes = endBytes(end);
      if (record.state === "waiting") {
        record.bytes += bytes;
        capacity.take(0, bytes);
        return;
      }
      closing.push(record);
      capacity.take(1, bytes);
      deps.onWork(queue);
    },
    endTrace(end) {
      ends.push(end);
      capacity.take(1, 0);
      deps.onWork(queue);
    },
    giveUp: stop,
    drain() {
      next ??= last.then(() => {
        next = undefined;
        last = send();
        return last;
      });
      return next;
    },
  };
  deps.onWork(queue);
  return queue;
}
