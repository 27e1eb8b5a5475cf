import { atExit } from "./at-exit.js";
import { createBudget } from "./budget.js";
import { WaymarkError, type WaymarkLossError } from "./errors.js";
import { byteLength } from "./json-text.js";
import { createLane, type Lane, type LaneDeps } from "./lane.js";
import { createLimiter } from "./limiter.js";
import { type Counts, createLosses } from "./losses.js";
import { sleep } from "./sleep.js";
import { createStoppable } from "./stoppable.js";
import type { Transport } from "./transport.js";

/** How what is recorded is sent in the background. */
export interface RecorderOptions {
  /** How long a span waits for others to go out with; 500 ms where not given. */
  flushIntervalMs?: number;
  /** How many spans go out in one request, 1,000 at most, which is the default. */
  maxBatchSpans?: number;
  /** About how large a request may become, unless a single span is larger; 1 MiB where not given. */
  maxBatchBytes?: number;
  /** How many requests run at a time; 8 where not given. */
  maxConcurrentRequests?: number;
  /** How many spans and traces may wait; 10,000 where not given. */
  maxQueued?: number;
  /** How much they may take, in bytes of JSON; 32 MiB where not given. */
  maxQueuedBytes?: number;
  /**
   * What happens while the queue is full. `drop`, the default: new traces and spans are not recorded, and reported as lost.
   * `wait`: `run` and `trace` wait for room before they call your function. What cannot wait, `startTrace` and `span`, drops.
   */
  whenFull?: "drop" | "wait";
  /** Told what could not be recorded, and why; a line on the console where not given. What it throws is ignored. */
  onError?: (error: WaymarkLossError) => void;
  /** On Node: sends what waits when the event loop has run empty; true where not given. */
  flushOnExit?: boolean;
  /** On Node: also does so on SIGINT and SIGTERM, and then lets them end the process; false where not given. */
  flushOnSignals?: boolean;
  /** How long that and `shutdown` may take; 10 s where not given. */
  shutdownTimeoutMs?: number;
  /**
   * How long `end` of a trace may take: what the trace still has by then is lost, and reported; 30 s where not given, which
   * outlasts a restart of the service.
   */
  endTimeoutMs?: number;
}

/** What became of what was recorded so far. */
export interface RecorderStats {
  /** Spans, traces and ends that wait or are under way. */
  queued: number;
  queuedBytes: number;
  sent: Readonly<Counts>;
  lost: Readonly<Counts>;
}

/** Sends in the background what traces record. Nothing here throws or rejects. */
export interface Recorder {
  /** Creates a trace from the body that does so; undefined, and counted as lost, when there is no room. */
  open(text: string): Lane | undefined;
  /**
   * Sends what a trace has, for `endTimeoutMs` at most.
   * @returns whether all of it is stored
   */
  settle(lane: Lane): Promise<boolean>;
  /** Whether there is room for another span or trace; where not, it is counted as lost. */
  admit(what: Partial<Counts>): boolean;
  /** Where `run` is to wait for room and there is none: resolves when that may have changed. */
  room(): Promise<void> | undefined;
  flush(): Promise<void>;
  shutdown(): Promise<void>;
  stats(): RecorderStats;
}

const defaults = {
  flushIntervalMs: 500,
  maxBatchSpans: 1_000,
  maxBatchBytes: 1_048_576,
  maxConcurrentRequests: 8,
  maxQueued: 10_000,
  maxQueuedBytes: 32 * 1_048_576,
  whenFull: "drop",
  onError: (error: WaymarkLossError) => console.warn(`Waymark: ${error.message}`),
  flushOnExit: true,
  flushOnSignals: false,
  shutdownTimeoutMs: 10_000,
  endTimeoutMs: 30_000,
} as const satisfies Required<RecorderOptions>;

/** How long requests that are given up may take to end. */
const giveUpMs = 200;

const queueIsFull = new WaymarkError("the queue is full");
const isShutDown = new WaymarkError("the client is shut down");

/** Begins to record. */
export function createRecorder(inner: Transport, given: RecorderOptions): Recorder {
  const options: Required<RecorderOptions> = { ...defaults, ...given };
  const { endTimeoutMs } = options;
  const budget = createBudget({ maxItems: options.maxQueued, maxBytes: options.maxQueuedBytes });
  const sent: Counts = { traces: 0, spans: 0 };
  const lanes = new Set<Lane>();
  // `finish` retries before the exit; until then a service that is down does not keep the process alive.
  const { transport, stop, resume } = createStoppable(inner, options.flushOnExit);
  const isTooLate = new WaymarkError(`it was not stored within ${endTimeoutMs} ms of the trace's end`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOpen = true;

  const losses = createLosses(options.onError, schedule);
  const deps: LaneDeps = {
    ...{ transport, limit: createLimiter(options.maxConcurrentRequests), budget, losses, sent },
    ...{ maxBatchSpans: Math.min(1_000, options.maxBatchSpans), maxBatchBytes: options.maxBatchBytes },
    onWork(lane) {
      lanes.add(lane);
      schedule();
    },
    onIdle: (lane) => void lanes.delete(lane),
  };

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), options.flushIntervalMs);
    // On Node: what waits does not keep the process alive, it is sent before the exit.
    if (typeof timer === "object") timer.unref();
  }
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await Promise.all([...lanes].map((lane) => lane.drain()));
    losses.report();
  }
  async function finish(): Promise<void> {
    const isInTime = new AbortController();
    sleep(options.shutdownTimeoutMs, isInTime.signal).then(
      () => stop(new WaymarkError(`it was not sent within ${options.shutdownTimeoutMs} ms before the end`)),
      () => undefined,
    );
    await flush();
    isInTime.abort();
    // The process did not exit: a caller waited for the lost records, and goes on.
    if (isOpen) resume();
  }
  const work = { isNeeded: () => lanes.size > 0 || losses.areUnreported, run: finish };
  const forgetExit = options.flushOnExit ? atExit(work, options.flushOnSignals) : () => undefined;

  const recorder: Recorder = {
    open(text) {
      return recorder.admit({ traces: 1 }) ? createLane(deps, { text, bytes: byteLength(text) }) : undefined;
    },
    async settle(lane) {
      let isDrained = false;
      const inTime = new AbortController();
      const drained = lane.drain().then(() => {
        isDrained = true;
        inTime.abort();
      });
      await sleep(endTimeoutMs, inTime.signal, options.flushOnExit).catch(() => undefined);
      if (!isDrained) {
        lane.giveUp(isTooLate);
        // Requests of other traces may keep those of this one from their turn to fail.
        await Promise.race([drained, sleep(giveUpMs)]);
      }
      if (lane.hasLosses) losses.report();
      return isDrained && !lane.hasLosses;
    },
    admit(what) {
      if (isOpen && !budget.isFull()) return true;
      losses.add(what, isOpen ? queueIsFull : isShutDown);
      return false;
    },
    room: () => (options.whenFull === "wait" && isOpen && budget.isFull() ? budget.change() : undefined),
    flush,
    async shutdown() {
      isOpen = false;
      forgetExit();
      await finish();
    },
    stats: () => ({ queued: budget.items, queuedBytes: budget.bytes, sent: { ...sent }, lost: { ...losses.total } }),
  };
  return recorder;
}
