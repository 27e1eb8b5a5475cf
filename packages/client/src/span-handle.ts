import { type SpanKind, type SpanStatus, spanKinds } from "./api-types.js";
import { messageOf, toJsonText, toName, toObjectText } from "./json-text.js";
import type { Recorder } from "./recorder.js";
import { openedBytes, type SpanRecord } from "./span-record.js";
import type { TraceQueue } from "./trace-queue.js";

export interface SpanOptions {
  /** Any JSON value, serialized at once. */
  input?: unknown;
  kind?: SpanKind;
  /** By OpenTelemetry's names, such as `gen_ai.request.model`. */
  attributes?: Readonly<Record<string, unknown>>;
}

export interface RunOptions<T> extends SpanOptions {
  /** Picks what to record of the result; undefined records nothing. */
  output?: (result: T) => unknown;
}

export interface EndOptions {
  output?: unknown;
  /** A thrown value or a text. */
  error?: unknown;
  /** Default `error` with an error, else `ok`. */
  status?: SpanStatus;
  /** Added to those of the start: tokens are known at the end. */
  attributes?: Readonly<Record<string, unknown>>;
}

/** A trace or a span, with spans below it. */
export interface SpanParent {
  /** Opens a span; you end it. */
  span(name: string, options?: SpanOptions): SpanHandle;
  /** Runs a function as a span with its input, output, error and duration. Returns or throws as the function does. */
  run<T>(name: string, work: (span: SpanHandle) => T | PromiseLike<T>, options?: RunOptions<T>): Promise<T>;
}

export interface SpanHandle extends SpanParent {
  /** The service's id, or undefined if the span is lost. Never rejects. */
  readonly id: Promise<string | undefined>;
  /** Only the first end counts. */
  end(options?: EndOptions): void;
}

interface TracingDeps {
  recorder: Recorder;
  context: ReturnType<typeof createTraceContext<SpanRecord>>;
  clock: Clock;
  /** Undefined if the trace is lost, and its spans with it. */
  queue: TraceQueue | undefined;
}

export function createTracing(deps: TracingDeps): SpanParent {
  const { recorder, context, clock, queue } = deps;
  const own = new WeakSet<SpanRecord>();

  function open(name: string, options: SpanOptions, parent: SpanRecord | undefined): [SpanRecord, SpanHandle] {
    const input = toJsonText(options.input);
    const attributes = toObjectText(options.attributes);
    let onSettled: SpanRecord["onSettled"] = () => undefined;
    const id = new Promise<string | undefined>((resolve) => {
      onSettled = resolve;
    });
    const record: SpanRecord = {
      name: toName(name),
      // The service would refuse the span for another text.
      kind: spanKinds.find((kind) => kind === options.kind),
      startedAt: clock(),
      parent,
      input,
      attributes,
      end: undefined,
      id: undefined,
      onSettled,
      state: "waiting",
      bytes: 0,
    };
    own.add(record);
    record.bytes = openedBytes(record.name, input, attributes);
    if (queue && recorder.admit({ spans: 1 })) queue.add(record);
    else lose(record);
    return [record, { ...below(() => record), id, end: (end = {}) => endSpan(record, end) }];
  }

  function endSpan(record: SpanRecord, { output, error, status, attributes }: EndOptions): void {
    if (record.end) return;
    const message = error === undefined || error === null ? null : messageOf(error);
    queue?.endSpan(record, {
      status: status ?? (message === null ? "ok" : "error"),
      endedAt: clock(),
      output: toJsonText(output),
      error: message,
      attributes: toObjectText(attributes),
    });
  }

  function below(parentNow: () => SpanRecord | undefined): SpanParent {
    return {
      span: (name, options = {}) => open(name, options, parentNow())[1],
      async run(name, work, options = {}) {
        const parent = parentNow();
        for (let wait = recorder.backpressure(); wait; wait = recorder.backpressure()) await wait;
        const [record, span] = open(name, options, parent);
        try {
          const result = await context.run(record, () => work(span));
          span.end({ output: options.output ? recorded(() => options.output?.(result)) : result });
          return result;
        } catch (error) {
          span.end({ error: error ?? String(error), status: "error" });
          throw error;
        }
      },
    };
  }

  return below(() => {
    const current = context.current();
    return current && own.has(current) ? current : undefined;
  });
}

function lose(record: SpanRecord): void {
  record.state = "lost";
  record.onSettled(undefined);
}

function recorded(describe: () => unknown): unknown {
  try {
    return describe();
  } catch (error) {
    return `[output failed: ${messageOf(error)}]`;
  }
}

type Clock = () => string;

/** A trace's clock starts at the system's time and only moves forward, so durations survive changes of the system's clock. */
export function createClock(): Clock {
  const startMs = Date.now();
  const origin = performance.now();
  return () => {
    const micros = Math.round((startMs + (performance.now() - origin)) * 1_000);
    const seconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, -1);
    return `${seconds}${String(micros % 1_000).padStart(3, "0")}Z`;
  };
}

/**
 * On Node an `AsyncLocalStorage`, without an import for browser bundlers to fail on. In browsers `current` is always
 * undefined: handles alone nest spans.
 */
export function createTraceContext<Value>() {
  const hooks = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:async_hooks");
  const storage = hooks && new hooks.AsyncLocalStorage<Value>();
  return {
    current: () => storage?.getStore(),
    run: <T>(value: Value, work: () => T): T => (storage ? storage.run(value, work) : work()),
  };
}
