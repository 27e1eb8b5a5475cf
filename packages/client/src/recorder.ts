import { type Capacity, createCapacity, createLimiter } from "./capacity.js";
import { WaymarkError, type WaymarkLossError } from "./errors.js";
import { byteLength } from "./json-text.js";
import { type Counts, createLosses } from "./losses.js";
import { createStoppable } from "./stoppable.js";
import { TraceQueue, type TraceQueueDeps } from "./trace-queue.js";
import { sleep, type Transport } from "./transport.js";

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
  /** On Node: sends the queue when the event loop is empty; default true. */
  flushOnExit?: boolean;
  /** On Node: also on SIGINT and SIGTERM, before they end the process; default false. */
  flushOnSignals?: boolean;
  /** Bounds both, and `shutdown`; default 10,000. */
  shutdownTimeoutMs?: number;
  /** Bounds `end` of a trace, whose remaining records are then lost. Default 30,000, which outlasts a restart of the service. */
  endTimeoutMs?: number;
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
  onError: (error: WaymarkLossError) => console.warn(`Waymark: ${error.message}`),
  flushOnExit: true,
  flushOnSignals: false,
  shutdownTimeoutMs: 10_000,
  endTimeoutMs: 30_000,
} as const satisfies Required<RecorderOptions>;

/** How long abandoned requests may take to end. */
const giveUpMs = 200;

const queueIsFull = new WaymarkError("the queue is full");
const isShutDown = new WaymarkError("the SDK is shut down");

export type Recorder = ReturnType<typeof createRecorder>;

/** Sends the records of traces in the background. Nothing here throws or rejects. */
export function createRecorder(inner: Transport, given: RecorderOptions) {
  const options: Required<RecorderOptions> = { ...defaults, ...given };
  const capacity = createCapacity({ maxItems: options.maxQueued, maxBytes: options.maxQueuedBytes });
  const sent: Counts = { traces: 0, spans: 0 };
  const isTooLate = new WaymarkError(`it was not stored within ${options.endTimeoutMs} ms of the trace's end`);
  const state = { isOpen: true };
  const { deps, flush, finish, forgetExit } = sendInBackground(inner, options, { capacity, sent, state });
  const { losses } = deps;

  /** Whether there is capacity for a span or trace; if not, it counts as lost. */
  function admit(what: Partial<Counts>): boolean {
    if (state.isOpen && !capacity.isFull()) return true;
    losses.add(what, state.isOpen ? queueIsFull : isShutDown);
    return false;
  }
  return {
    admit,
    /** Creates a trace from its JSON; without capacity it is lost, and the result undefined. */
    open: (text: string): TraceQueue | undefined =>
      admit({ traces: 1 }) ? new TraceQueue(deps, { text, bytes: byteLength(text) }) : undefined,
    /** Sends the rest of a trace within `endTimeoutMs`; returns whether all of it is stored. */
    async settle(queue: TraceQueue): Promise<boolean> {
      const isDrained = await drainInTime(queue, isTooLate, options);
      if (queue.hasLosses) losses.report();
      return isDrained && !queue.hasLosses;
    },
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
      lost: { ...losses.total },
    }),
  };
}

/** Sends the queues of traces with work after each `flushIntervalMs`, and at the process's exit. */
function sendInBackground(
  inner: Transport,
  options: Required<RecorderOptions>,
  { capacity, sent, state }: { capacity: Capacity; sent: Counts; state: { readonly isOpen: boolean } },
) {
  const queues = new Set<TraceQueue>();
  // Retries do not keep the process alive; `finish` retries before the exit.
  const { transport, stop, resume } = createStoppable(inner, options.flushOnExit);
  let timer: ReturnType<typeof setTimeout> | undefined;

  const losses = createLosses(options.onError, schedule);
  const deps: TraceQueueDeps = {
    transport,
    limit: createLimiter(options.maxConcurrentRequests),
    capacity,
    losses,
    sent,
    maxBatchSpans: Math.min(1_000, options.maxBatchSpans),
    maxBatchBytes: options.maxBatchBytes,
    onWork(queue) {
      queues.add(queue);
      schedule();
    },
    onIdle: (queue) => void queues.delete(queue),
  };

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), options.flushIntervalMs);
    // On Node the timer does not keep the process alive: `atExit` sends the queue.
    if (typeof timer === "object") timer.unref();
  }
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await Promise.all([...queues].map((queue) => queue.drain()));
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
    // The process goes on if a caller waited for the records that are lost now.
    if (state.isOpen) resume();
  }
  const work = { isNeeded: () => queues.size > 0 || losses.areUnreported, run: finish };
  const forgetExit = options.flushOnExit ? atExit(work, options.flushOnSignals) : () => undefined;
  return { deps, flush, finish, forgetExit };
}

async function drainInTime(
  queue: TraceQueue,
  isTooLate: WaymarkError,
  { endTimeoutMs, flushOnExit }: Required<RecorderOptions>,
): Promise<boolean> {
  let isDrained = false;
  const inTime = new AbortController();
  const drained = queue.drain().then(() => {
    isDrained = true;
    inTime.abort();
  });
  await sleep(endTimeoutMs, inTime.signal, flushOnExit).catch(() => undefined);
  if (!isDrained) {
    queue.giveUp(isTooLate);
    // Behind requests of other traces, this trace's requests may not have had their turn to fail.
    await Promise.race([drained, sleep(giveUpMs)]);
  }
  return isDrained;
}

interface ExitWork {
  isNeeded(): boolean;
  run(): Promise<void>;
}

/**
 * On Node, runs the work when the event loop is empty, and on signals before they end the process. Elsewhere does nothing.
 * @returns a function that removes the listeners
 */
function atExit(work: ExitWork, onSignals: boolean): () => void {
  if (typeof process === "undefined" || typeof process.on !== "function") return () => undefined;
  const beforeExit = () => {
    if (work.isNeeded()) void work.run();
  };
  const signals: NodeJS.Signals[] = onSignals ? ["SIGINT", "SIGTERM"] : [];
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    void work.run().finally(() => {
      // With another listener, that one decides what the signal does.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  };
  const remove = () => {
    process.off("beforeExit", beforeExit);
    for (const signal of signals) process.off(signal, onSignal);
  };
  process.on("beforeExit", beforeExit);
  for (const signal of signals) process.on(signal, onSignal);
  return remove;
}
