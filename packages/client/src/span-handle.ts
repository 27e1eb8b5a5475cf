import type { SpanKind, SpanStatus } from "./api-types.js";
import { toKind, toSpanStatus, type Warn } from "./checks.js";
import { type Clock, createContext } from "./context.js";
import type { Recorder } from "./recorder.js";
import { type SpanFacts, toAttributes } from "./span-attributes.js";
import { openedBytes, type SpanRecord } from "./span-record.js";
import { createCollector, tap } from "./tap.js";
import { describeThrown, messageOf, toName } from "./texts.js";
import { withinOtel, writeTraceparent } from "./trace-context.js";
import type { TraceQueue } from "./trace-queue.js";
import { toJsonText, toObjectText } from "./values.js";

export interface SpanOptions extends SpanFacts {
  /** Any value, serialized at once. */
  input?: unknown;
  kind?: SpanKind | undefined;
  /** For a span that is told later: when it began, but not before its parent. Default now. */
  startedAt?: Date | undefined;
}

export interface RunOptions<T> extends SpanOptions {
  /** Picks what to record of the result; undefined records nothing. */
  output?: (result: T) => unknown;
}

/** What becomes known while a span runs. Attributes are added to those of the start. */
export interface SetOptions extends SpanFacts {
  output?: unknown;
  /** A thrown value or a text. */
  error?: unknown;
  /** Default `error` with an error, else `ok`. */
  status?: SpanStatus | undefined;
}

export type EndOptions = SetOptions;

/** A trace or a span, with spans below it. */
export interface SpanParent {
  /** Opens a span; you end it. */
  span(name: string, options?: SpanOptions): SpanHandle;
  /**
   * Runs a function as a span with its input, output, error and duration. Returns or throws as the function does. The span of a
   * stream, a generator or a `Response` ends when that has been read.
   */
  run<T>(name: string, work: (span: SpanHandle) => T | PromiseLike<T>, options?: RunOptions<T>): Promise<T>;
}

export interface SpanHandle extends SpanParent {
  /** The service's id, OpenTelemetry's in a shared run, or undefined if the span is lost. Never rejects. */
  readonly id: Promise<string | undefined>;
  /** The header for requests to other services, which then record below this span; only with `traceContext`. */
  readonly traceparent: string | undefined;
  /** Keeps values for the end of the span; later ones win. */
  set(values: SetOptions): SpanHandle;
  /** Only the first end counts. */
  end(options?: EndOptions): void;
}

export interface Tracing extends SpanParent {
  /** As `run`, and without waiting for anything: a function that returns no promise returns at once. */
  runNow<T>(name: string, work: (span: SpanHandle) => T, options?: RunOptions<Awaited<T>>, onEnd?: OnEnd): T;
}

type OnEnd = (error?: { thrown: unknown }) => void;

interface TracingDeps {
  traceName: string;
  recorder: Recorder;
  clock: Clock;
  warn: Warn;
  /** Undefined if the trace is lost, and its spans with it. */
  queue: TraceQueue | undefined;
  /** Of a run that services share. */
  traceId: string | undefined;
}

/** The span that code runs in, of all clients of this process. */
const context = createContext<SpanHandle>();
const tracings = new WeakMap<SpanHandle, Tracing>();

/** The span that this code runs in, on Node also after awaits; undefined in browsers. */
export function currentSpan(): SpanHandle | undefined {
  return context.current();
}

/** Records below the current span, if there is one. */
export function currentTracing(): Tracing | undefined {
  const span = context.current();
  return span && tracings.get(span);
}

export function createTracing(deps: TracingDeps): Tracing {
  const records = new WeakMap<SpanHandle, SpanRecord>();
  const below = (parentNow: () => SpanRecord | undefined): Tracing => {
    const open = (name: string, options: SpanOptions | undefined, parent: SpanRecord | undefined): OpenedSpan => {
      const record = openRecord(deps, name, options ?? {}, parent);
      const tracing = below(() => record);
      const { idOf, set, setOutput, end } = createEnd(deps, record);
      const span: SpanHandle = {
        get id() {
          return idOf();
        },
        get traceparent() {
          return toTraceparent(deps, record.spanId);
        },
        span: tracing.span,
        run: tracing.run,
        end,
        set(values) {
          set(values ?? {});
          return span;
        },
      };
      records.set(span, record);
      tracings.set(span, tracing);
      const { traceId } = deps;
      const remote = traceId && record.spanId ? { traceId, spanId: record.spanId } : undefined;
      return { span, setOutput, within: <T>(work: () => T) => context.run(span, () => withinOtel(remote, work)) };
    };
    return {
      span: (name, options) => open(name, options, parentNow()).span,
      async run(name, work, options = {}) {
        const parent = parentNow();
        const { recorder } = deps;
        for (let wait = recorder.backpressure(); wait; wait = recorder.backpressure()) await wait;
        return perform(open(name, options, parent), work, options);
      },
      runNow: (name, work, options = {}, onEnd = undefined) =>
        perform(open(name, options, parentNow()), work, options, onEnd),
    };
  };
  return below(() => {
    const current = context.current();
    return current && records.get(current);
  });
}

export function toTraceparent({ traceId, warn }: Pick<TracingDeps, "traceId" | "warn">, spanId: string | undefined) {
  if (!traceId) warn("traceparent", "a run has a `traceparent` if the client has the option `traceContext`");
  return traceId && spanId ? writeTraceparent({ traceId, spanId }) : undefined;
}

interface OpenedSpan {
  span: SpanHandle;
  setOutput(text: string | undefined): void;
  within<T>(work: () => T): T;
}

function openRecord(deps: TracingDeps, name: string, options: SpanOptions, parent: SpanRecord | undefined): SpanRecord {
  const input = toJsonText(options.input);
  const attributes = toObjectText(toAttributes(options, "gen_ai.request.model"));
  const record: SpanRecord = {
    name: toName(name),
    kind: toKind(options.kind, deps.warn),
    startedAt: startOf(options.startedAt, parent) ?? deps.clock(),
    parent,
    input,
    attributes,
    end: undefined,
    endsApart: false,
    id: undefined,
    onSettled: () => undefined,
    state: "waiting",
    bytes: 0,
  };
  record.bytes = openedBytes(record.name, input, attributes);
  return record;
}

/** Undefined for none, and for no date. */
function startOf(given: Date | undefined, parent: SpanRecord | undefined): string | undefined {
  if (!(given instanceof Date) || Number.isNaN(given.getTime())) return undefined;
  const start = given.toISOString().replace("Z", "000Z");
  return parent && parent.startedAt > start ? parent.startedAt : start;
}

function createEnd({ queue, recorder, clock, warn, traceName }: TracingDeps, record: SpanRecord) {
  // Made when it is asked for: on Cloudflare a promise of one visit that another settles is a warning.
  let id: Promise<string | undefined> | undefined;
  const idOf = () => {
    id ??= new Promise((resolve) => {
      if (record.state === "stored" || record.state === "lost") resolve(record.id);
      else record.onSettled = resolve;
    });
    return id;
  };
  let [output, error]: (string | undefined)[] = [];
  let status: SpanStatus | undefined;
  const attributes = new Map<string, string>();
  if (queue && recorder.admit(traceName, { spans: 1 })) queue.add(record);
  else {
    record.state = "lost";
    record.onSettled(undefined);
  }
  function add(more: object = {}): void {
    for (const [name, value] of Object.entries(more)) {
      const text = toJsonText(value);
      if (text !== undefined) attributes.set(name, text);
    }
  }
  function set(values: SetOptions): void {
    if (record.end) return;
    output = toJsonText(values.output) ?? output;
    status = toSpanStatus(values.status, warn) ?? status;
    if (values.error !== undefined && values.error !== null) {
      const thrown = describeThrown(values.error, (value) => toJsonText(value) ?? "");
      error = thrown.text;
      add(thrown.attributes);
    }
    add(toAttributes(values, "gen_ai.response.model"));
  }
  function end(values?: EndOptions): void {
    if (record.end) return;
    set(values ?? {});
    const members = Array.from(attributes, ([name, text]) => `${JSON.stringify(name)}:${text}`);
    const text = members.length > 0 ? `{${members.join(",")}}` : undefined;
    const known = status ?? (error === undefined ? "ok" : "error");
    const ended = { status: known, endedAt: clock(), output, error: error ?? null, attributes: text };
    if (queue) queue.endSpan(record, ended);
    else record.end = ended;
  }
  const setOutput = (text: string | undefined) => {
    output = text ?? output;
  };
  return { idOf, set, setOutput, end };
}

function perform<T>(
  { span, setOutput, within }: OpenedSpan,
  work: (span: SpanHandle) => T,
  { output }: RunOptions<Awaited<T>>,
  onEnd: OnEnd = () => undefined,
): T {
  const fail = (thrown: unknown) => {
    span.end({ error: thrown ?? String(thrown), status: "error" });
    onEnd({ thrown });
  };
  const finish = <Result>(result: Result): Result => {
    const picked = output && { output: recorded(() => output(result as Awaited<T>)) };
    const collector = createCollector();
    const tapped = tap(result, {
      chunk: collector.add,
      end(error) {
        if (!picked) setOutput(collector.all());
        if (error) return fail(error.thrown);
        span.end(picked);
        onEnd();
      },
      within,
    });
    if (tapped !== undefined) return tapped as Result;
    span.end(picked ?? { output: result });
    onEnd();
    return result;
  };
  try {
    const result = within(() => work(span));
    if (!isThenable(result)) return finish(result);
    return result.then(finish, (thrown: unknown) => {
      fail(thrown);
      throw thrown;
    }) as T;
  } catch (thrown) {
    fail(thrown);
    throw thrown;
  }
}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function recorded(describe: () => unknown): unknown {
  try {
    return describe();
  } catch (error) {
    return `[output failed: ${messageOf(error)}]`;
  }
}
