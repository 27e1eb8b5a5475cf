import { createCapacity } from "./capacity.js";
import { WaymarkError, type WaymarkLossError } from "./errors.js";
import { atExit } from "./exit.js";
import { type Counts, Reports } from "./reports.js";
import { Sender } from "./sender.js";
import { SharedQueue, type SharedTrace } from "./shared-queue.js";
import { byteLength } from "./texts.js";
import { TraceQueue, type TraceQueueDeps } from "./trace-queue.js";
import { type Connection, type ConnectionOptions, sleep } from "./transport.js";

export interface RecorderOptions {
  /** How long a span waits for others to share its request; default 500. */
  flushIntervalMs?: number;
  /** Spans per request, at most 1,000, the default. */
  maxBatchSpans?: number;
  /** Approximate size of a request, unless a single span is larger; default 1 MiB. */
  maxBatchBytes?: number;
  maxConcurrentRequests?: number;
  /** Spans and traces that may wait; default 10,000. */
  maxQueued?: number;
  /** Their JSON; default 32 MiB. */
  maxQueuedBytes?: number;
  /**
   * While the queue is full, `drop` (the default) loses new traces and spans and reports them. With `wait`, `run` and `trace`
   * wait before they call your function; `startTrace` and `span` cannot wait and drop.
   */
  whenFull?: "drop" | "wait";
  /** Receives losses and their cause; default a line on the console. The SDK ignores its exceptions. */
  onError?: (error: WaymarkLossError) => void;
  /** Receives all other warnings; default `console.warn`. */
  onWarning?: (message: string) => void;
  /** On Node: sends the queue when the event loop is empty; default true. */
  flushOnExit?: boolean;
  /** On Node: also on SIGINT and SIGTERM, before they end the process; default false. */
  flushOnSignals?: boolean;
  /** Bounds both, and `shutdown`; default 2,000. */
  shutdownTimeoutMs?: number;
}

export interface RecorderStats {
  queued: number;
  queuedBytes: number;
  sent: Readonly<Counts>;
  lost: Readonly<Counts>;
}

const defaults = {
  flushIntervalMs: 500,
  maxBatchSpans: 1_000,
  maxBatchBytes: 1_048_576,
  maxConcurrentRequests: 8,
  maxQueued: 10_000,
  maxQueuedBytes: 32 * 1_048_576,
  whenFull: "drop",
  flushOnExit: true,
  flushOnSignals: false,
  shutdownTimeoutMs: 2_000,
} as const satisfies Required<Omit<RecorderOptions, "onError" | "onWarning">>;

/** Of `flush`: longer than a request that its runtime dropped holds its place, and within the 30 s of Cloudflare's `waitUntil`. */
const defaultFlushMs = 15_000;
/** A change is told; this is for runtimes where it is told to another visit. */
const pollMs = 100;

const queueIsFull = new WaymarkError("the queue is full");
const isShutDown = new WaymarkError("the SDK is shut down");

export type Recorder = ReturnType<typeof createRecorder>;

/**
 * Sends the records of traces in the background. Nothing here throws, rejects or waits for the network but `flush`.
 * @param off why nothing is recorded at all
 */
export function createRecorder(connection: Connection, given: RecorderOptions & ConnectionOptions, off?: WaymarkError) {
  const options = { ...defaults, ...given };
  const capacity = createCapacity({ maxItems: options.maxQueued, maxBytes: options.maxQueuedBytes });
  const sent: Counts = { traces: 0, spans: 0 };
  const told = { onError: given.onError, onWarning: given.onWarning ?? console.warn, address: connection.base };
  const reports: Reports = new Reports(told, (ms) => sender.wakeIn(ms));
  const sender: Sender = new Sender(connection, options, reports);
  const deps: TraceQueueDeps = {
    capacity,
    sent,
    lose: (traceName, lost, cause) => reports.lose(traceName, lost, cause),
    onWork: (queue, isUrgent) => sender.onWork(queue, isUrgent),
    maxBatchSpans: Math.min(1_000, options.maxBatchSpans),
    maxBatchBytes: options.maxBatchBytes,
  };
  const state = { isOpen: off === undefined, lostAtFlush: 0 };

  async function flush(timeoutMs = defaultFlushMs): Promise<boolean> {
    const isSent = await waitFor(sender, timeoutMs);
    reports.report();
    const lost = reports.total.traces + reports.total.spans;
    const isWhole = isSent && lost === state.lostAtFlush;
    state.lostAtFlush = lost;
    return isWhole;
  }
  async function finish(): Promise<void> {
    if (!(await waitFor(sender, options.shutdownTimeoutMs))) {
      const cause = reports.failure ? `; the last attempt failed: ${reports.failure}` : "";
      sender.loseAll(new WaymarkError(`it was not sent within ${options.shutdownTimeoutMs} ms before the end${cause}`));
    }
    reports.report();
  }
  const work = { isNeeded: () => sender.queues.size > 0 || reports.areWaiting, run: finish };
  const forgetExit = state.isOpen && options.flushOnExit ? atExit(work, options.flushOnSignals) : () => undefined;

  /** Whether there is capacity for a span or trace; if not, it counts as lost. */
  function admit(traceName: string, what: Partial<Counts>): boolean {
    if (state.isOpen && !capacity.isFull()) return true;
    if (!off) reports.lose(traceName, what, state.isOpen ? queueIsFull : isShutDown);
    return false;
  }
  return {
    admit,
    /** Creates a trace from its JSON; without capacity it is lost, and the result undefined. */
    open: (name: string, text: string): TraceQueue | undefined =>
      admit(name, { traces: 1 }) ? new TraceQueue(deps, name, { text, bytes: byteLength(text) }) : undefined,
    share: (name: string, trace: SharedTrace): TraceQueue | undefined =>
      admit(name, { traces: 1 }) ? new SharedQueue(deps, name, trace) : undefined,
    backpressure: (): Promise<void> | undefined =>
      options.whenFull === "wait" && state.isOpen && capacity.isFull() ? capacity.nextRelease() : undefined,
    flush,
    async shutdown(): Promise<void> {
      state.isOpen = false;
      forgetExit();
      await finish();
    },
    stats: (): RecorderStats => ({
      queued: capacity.items,
      queuedBytes: capacity.bytes,
      sent: { ...sent },
      lost: { ...reports.total },
    }),
  };
}

/** Sends what waits now; returns whether all of it is stored or lost in time. */
async function waitFor(sender: Sender, timeoutMs: number): Promise<boolean> {
  const endsAt = performance.now() + timeoutMs;
  const wanted = Array.from(sender.queues, ({ counts }) => ({ counts, count: counts.added }));
  const isSettled = () => {
    for (let last = wanted.at(-1); last && last.counts.settled >= last.count; last = wanted.at(-1)) wanted.pop();
    return wanted.length === 0;
  };
  while (!isSettled()) {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) return false;
    sender.hurry();
    const stop = new AbortController();
    const poll = sleep(Math.min(pollMs, leftMs), stop.signal).catch(() => undefined);
    await Promise.race([sender.nextChange(), poll]);
    stop.abort();
  }
  return true;
}
