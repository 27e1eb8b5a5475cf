import type { SpanStatus } from "./api-types.js";
import type { Clock } from "./clock.js";
import { messageOf, toJsonText, toName } from "./json-text.js";
import type { Lane } from "./lane.js";
import type { Recorder } from "./recorder.js";
import type { RunContext } from "./run-context.js";
import { openedBytes, type SpanRecord } from "./span-record.js";

/** What a span begins with. */
export interface SpanOptions {
  /** Any value that can be JSON, as it is now. */
  input?: unknown;
}

/** How a run is recorded. */
export interface RunOptions<T> extends SpanOptions {
  /** What to record of the result instead of all of it; undefined for nothing. */
  output?: (result: T) => unknown;
}

/** How a span ends. */
export interface EndOptions {
  /** Any value that can be JSON. */
  output?: unknown;
  /** What went wrong, thrown or as text. */
  error?: unknown;
  /** `error` where an error is given, else `ok`. */
  status?: SpanStatus;
}

/** What spans can be opened below: a trace, or a span. */
export interface SpanParent {
  /** Opens a span; end it by its `end`. */
  span(name: string, options?: SpanOptions): SpanHandle;
  /**
   * Runs a function as a span and records its input, output, error and duration.
   * @returns what the function returns
   * @throws what the function throws
   */
  run<T>(name: string, work: (span: SpanHandle) => T | PromiseLike<T>, options?: RunOptions<T>): Promise<T>;
}

/** A span that is being recorded. */
export interface SpanHandle extends SpanParent {
  /** The service's id, as soon as it is stored; undefined when the span is lost. It never rejects. */
  readonly id: Promise<string | undefined>;
  /** Ends the span now; only the first end counts. */
  end(options?: EndOptions): void;
}

interface TracingDeps {
  recorder: Recorder;
  context: RunContext<SpanRecord>;
  clock: Clock;
  /** Undefined where the trace is lost, and its spans with it. */
  lane: Lane | undefined;
}

/** What opens the spans of one trace. */
export function createTracing(deps: TracingDeps): SpanParent {
  const { recorder, context, clock, lane } = deps;
  const own = new WeakSet<SpanRecord>();

  function open(name: string, options: SpanOptions, parent: SpanRecord | undefined): [SpanRecord, SpanHandle] {
    const input = toJsonText(options.input);
    let onSettled: SpanRecord["onSettled"] = () => undefined;
    const id = new Promise<string | undefined>((resolve) => {
      onSettled = resolve;
    });
    const record: SpanRecord = {
      ...{ name: toName(name), startedAt: clock(), parent, input, end: undefined, id: undefined, onSettled },
      ...{ state: "waiting", bytes: 0 },
    };
    own.add(record);
    record.bytes = openedBytes(record.name, input);
    if (lane && recorder.admit({ spans: 1 })) lane.add(record);
    else lose(record);
    return [record, { ...below(() => record), id, end: (end = {}) => endSpan(record, end) }];
  }

  function lose(record: SpanRecord): void {
    record.state = "lost";
    record.onSettled(undefined);
  }

  function endSpan(record: SpanRecord, { output, error, status }: EndOptions): void {
    if (record.end) return;
    const message = error === undefined || error === null ? null : messageOf(error);
    lane?.endSpan(record, {
      status: status ?? (message === null ? "ok" : "error"),
      endedAt: clock(),
      output: toJsonText(output),
      error: message,
    });
  }

  function below(parentNow: () => SpanRecord | undefined): SpanParent {
    return {
      span: (name, options = {}) => open(name, options, parentNow())[1],
      async run(name, work, options = {}) {
        const parent = parentNow();
        for (let wait = recorder.room(); wait; wait = recorder.room()) await wait;
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

/** What the user's own function makes of a result; where it throws, that is told in its place. */
function recorded(describe: () => unknown): unknown {
  try {
    return describe();
  } catch (error) {
    return `[output failed: ${messageOf(error)}]`;
  }
}
