import { createDelivery, type DeliveryDeps, type TraceEnd } from "./delivery.js";
import { endBytes, type SpanEnd, type SpanRecord } from "./span-record.js";
import { createStoppable } from "./stoppable.js";

/** What all lanes of a client share. */
export interface LaneDeps extends DeliveryDeps {
  /** Called when the lane has something to send soon. */
  onWork(lane: Lane): void;
  /** Called when it has nothing left. */
  onIdle(lane: Lane): void;
}

/** Sends what is recorded of one trace, one request after the other, so that parents are there before their children. */
export interface Lane {
  /** The service's id; undefined when the trace could not be created. */
  readonly created: Promise<string | undefined>;
  /** Whether something of the trace is lost. */
  readonly hasLosses: boolean;
  add(record: SpanRecord): void;
  endSpan(record: SpanRecord, end: SpanEnd): void;
  endTrace(end: TraceEnd): void;
  /** Sends what waits now; resolves when it is sent or lost. */
  drain(): Promise<void>;
  /** Ends all requests of the trace, those under way and those to come; what they were to store is lost. */
  giveUp(reason: unknown): void;
}

/** Creates a trace and its lane. */
export function createLane(deps: LaneDeps, trace: { text: string; bytes: number }): Lane {
  const { budget } = deps;
  const { transport, stop } = createStoppable(deps.transport);
  const delivery = createDelivery({ ...deps, transport }, trace);
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
    // Last, because the mail about a failed trace names a failing span.
    for (const end of ended) await delivery.sendTraceEnd(end);
    await delivery.created;
    if (waiting.length + closing.length + ends.length === 0) deps.onIdle(lane);
  }

  const lane: Lane = {
    created: delivery.created,
    get hasLosses() {
      return delivery.hasLosses;
    },
    add(record) {
      waiting.push(record);
      waitingBytes += record.bytes;
      budget.take(1, record.bytes);
      deps.onWork(lane);
      if (waiting.length >= deps.maxBatchSpans || waitingBytes >= deps.maxBatchBytes) void lane.drain();
    },
    endSpan(record, end) {
      if (record.state === "lost") return;
      record.end = end;
      const bytes = endBytes(end);
      if (record.state === "waiting") {
        record.bytes += bytes;
        budget.take(0, bytes);
        return;
      }
      closing.push(record);
      budget.take(1, bytes);
      deps.onWork(lane);
    },
    endTrace(end) {
      ends.push(end);
      budget.take(1, 0);
      deps.onWork(lane);
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
  deps.onWork(lane);
  return lane;
}
