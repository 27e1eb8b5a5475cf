import { type ApiClient, createApiClientOn } from "./api-client.js";
import type { TraceLabels, TraceStatus } from "./api-types.js";
import { connect, createWarn, labelNames, toSnakeCase, toStatus, withEnvironment } from "./checks.js";
import { createClock, createContext } from "./context.js";
import { toLabels } from "./labels.js";
import { type AnyFunction, type BeginCall, type ObserveOptions, observeWith, setNewest } from "./observe.js";
import { createRecorder, type RecorderOptions, type RecorderStats } from "./recorder.js";
import { shareTrace } from "./shared-queue.js";
import {
  createTracing,
  type RunOptions,
  type SpanHandle,
  type SpanParent,
  type Tracing,
  toTraceparent,
} from "./span-handle.js";
import { toObject } from "./span-record.js";
import { toName, toText } from "./texts.js";
import { activeOtelSpan, readTraceparent } from "./trace-context.js";
import { type ConnectionOptions, createTransport } from "./transport.js";
import { toObjectText } from "./values.js";

export interface WaymarkOptions extends ConnectionOptions, RecorderOptions {
  /** The agent of what `observe` and the wrappers record outside a trace. */
  agentId?: string | undefined;
  /**
   * Other services may record into the runs of this one, which have OpenTelemetry's ids, and a run within a span of
   * OpenTelemetry belongs to its trace. Spans are then sent when they end. Default false.
   */
  traceContext?: boolean | undefined;
}

/** Labels in the API's names or in camel case. */
export interface Labels extends TraceLabels {
  sessionId?: string | null | undefined;
  userId?: string | null | undefined;
  /** The token of the visit that asks, by the tracker's `waymark.visit()`. */
  visit?: string | null | undefined;
}

export type TraceOptions = Labels & {
  name: string;
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
  /** The header of a request: this run is a part of the sender's. Null keeps it apart from a span of OpenTelemetry. */
  traceparent?: string | null | undefined;
} & ({ agent_id: string } | { agentId: string });

export type EndStatus = Exclude<TraceStatus, "running">;

export interface TraceHandle extends SpanParent {
  /** The service's id, OpenTelemetry's of a shared run, or undefined if the trace could not be created. Never rejects. */
  readonly id: Promise<string | undefined>;
  /** As that of a span. */
  readonly traceparent: string | undefined;
  /** Ends the trace, as `success` by default. Resolves at once: `flush` waits for the network. Only the first end counts. */
  end(status?: EndStatus): Promise<void>;
}

export interface Waymark {
  readonly api: ApiClient;
  /** Begins a trace in the background; the handle works at once. */
  startTrace(options: TraceOptions): TraceHandle;
  /**
   * Records a function as a trace with a root span of the same name. The trace ends with `success`, or with `error` if the
   * function throws. Returns or throws as the function does, without waiting for the service.
   */
  trace<T>(
    options: TraceOptions & RunOptions<T>,
    work: (span: SpanHandle, trace: TraceHandle) => T | PromiseLike<T>,
  ): Promise<T>;
  /** The same function, whose calls are recorded: below the current span, else each as a trace. */
  observe<F extends AnyFunction>(work: F, options?: ObserveOptions<Awaited<ReturnType<F>>>): F;
  /** Labels the traces that begin in a function, on Node also after its awaits; inner labels win. Browsers only call it. */
  propagate<T>(labels: Labels, work: () => T): T;
  /**
   * Sends the queue; resolves when all of it is stored or lost, or after `timeoutMs`, default 15,000. Never rejects.
   * @returns whether all is stored and nothing was lost since the last flush
   */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Stops recording and sends the queue within `shutdownTimeoutMs`. Never rejects. */
  shutdown(): Promise<void>;
  stats(): RecorderStats;
}

const propagatedNames = [...labelNames, "visit"];
const traceNames = ["agent_id", "name", "metadata", "traceparent", ...propagatedNames];
const runNames = ["input", "output", "kind", "startedAt", "attributes", "model", "provider", "usage"];

/** Never throws: with wrong options it warns once and records nothing. */
export function createWaymark(given?: WaymarkOptions): Waymark {
  const options = withEnvironment(given);
  const warn = createWarn(options.onWarning);
  const { connection, off } = connect(options);
  if (off) warn("options", `nothing is recorded: ${off.message}`);
  const recorder = createRecorder(connection, options, off);
  const propagated = createContext<Record<string, unknown>>();

  function begin(given: unknown): { trace: TraceHandle; tracing: Tracing; name: string } {
    const { agent_id, name, metadata, traceparent, ...own } = toSnakeCase(
      given,
      [...traceNames, ...runNames],
      warn,
      "startTrace",
    );
    if (!agent_id) warn("agent", "a trace needs an `agent_id`");
    const clock = createClock();
    const labels = toLabels({ ...propagated.current(), ...own });
    const label = toName(name ?? "");
    const known = { agent_id: toText(agent_id ?? "").slice(0, 255) || "(no name)", name: label };
    const [startedAt, texts] = [clock(), { metadata: metadata ? toObjectText(metadata) : undefined }];
    const remote = remoteOf(traceparent);
    const isShared = remote !== undefined || options.traceContext === true;
    const shared = isShared ? shareTrace(remote, { agentId: known.agent_id, labels, startedAt, ...texts }) : undefined;
    const open = () => toObject({ ...known, status: "running", started_at: startedAt, ...labels }, texts);
    const queue = shared ? recorder.share(label, shared) : recorder.open(label, open());
    const tracing = createTracing({ traceName: label, recorder, clock, warn, queue, traceId: shared?.traceId });
    const trace: TraceHandle = {
      span: tracing.span,
      run: tracing.run,
      get id() {
        return queue?.created ?? Promise.resolve(undefined);
      },
      get traceparent() {
        return toTraceparent({ traceId: shared?.traceId, warn }, shared?.rootId);
      },
      async end(status) {
        queue?.endTrace({ status: toStatus(status, warn), ended_at: clock() });
      },
    };
    return { trace, tracing, name: label };
  }

  function remoteOf(given: unknown) {
    if (given === undefined || given === null || given === "")
      return options.traceContext && given !== null ? activeOtelSpan() : undefined;
    const remote = readTraceparent(toText(given));
    if (!remote) warn("traceparent given", `"${toText(given).slice(0, 60)}" is no \`traceparent\``);
    return remote;
  }
  const beginCall: BeginCall = (agentId, name, usualAgentId = name) => {
    const { trace, tracing } = begin({ agent_id: agentId ?? options.agentId ?? usualAgentId, name });
    return { tracing, end: (isFailed) => void trace.end(isFailed ? "error" : "success") };
  };
  setNewest(beginCall);
  return {
    api: createApiClientOn(off ? () => Promise.reject(off) : createTransport(options, connection)),
    startTrace: (options) => begin(options).trace,
    async trace(options, work) {
      for (let wait = recorder.backpressure(); wait; wait = recorder.backpressure()) await wait;
      const { trace, tracing, name } = begin(options);
      return tracing.runNow(
        name,
        async (span) => work(span, trace),
        options,
        (error) => void trace.end(error ? "error" : "success"),
      );
    },
    observe: (work, options) => observeWith(() => beginCall, work, options),
    propagate: (labels, work) =>
      propagated.run({ ...propagated.current(), ...toSnakeCase(labels, propagatedNames, warn, "propagate") }, work),
    flush: recorder.flush,
    shutdown: recorder.shutdown,
    stats: recorder.stats,
  };
}
