import { type ApiClient, createApiClientOn } from "./api-client.js";
import type { NewTrace, TraceStatus } from "./api-types.js";
import { createClock } from "./clock.js";
import { toJsonText, toName, toText } from "./json-text.js";
import { createRecorder, type RecorderOptions, type RecorderStats } from "./recorder.js";
import { createRunContext } from "./run-context.js";
import { createTracing, type RunOptions, type SpanHandle, type SpanParent } from "./span-handle.js";
import type { SpanRecord } from "./span-record.js";
import { type ConnectionOptions, createTransport } from "./transport.js";

/** How the client reaches the service, and how it sends what it records. */
export interface WaymarkOptions extends ConnectionOptions, RecorderOptions {}

/** What a trace begins with. */
export type TraceOptions = Pick<NewTrace, "agent_id" | "name" | "metadata">;

/** A trace that is being recorded. */
export interface TraceHandle extends SpanParent {
  /** The service's id, as soon as it answered; undefined when the trace could not be created. It never rejects. */
  readonly id: Promise<string | undefined>;
  /**
   * Ends the trace now, and sends everything that it has, for `endTimeoutMs` at most.
   * @returns whether all of it is stored; what is not is lost, and was told to `onError`. It never rejects.
   */
  end(status: Exclude<TraceStatus, "running">): Promise<boolean>;
}

/** Records runs of agents, and calls the trace API. */
export interface Waymark {
  /** The calls of the API, one to one. */
  readonly api: ApiClient;
  /** Begins a trace. It is created in the background; the handle works at once. */
  startTrace(options: TraceOptions): TraceHandle;
  /**
   * Records a function as a trace of its own: a first span of the same name has its input, output, error and duration, and what
   * it runs hangs below. Ends with `success`, or with `error` when the function throws.
   * @returns what the function returns, without waiting for the service
   * @throws what the function throws
   */
  trace<T>(
    options: TraceOptions & RunOptions<T>,
    work: (span: SpanHandle, trace: TraceHandle) => T | PromiseLike<T>,
  ): Promise<T>;
  /** Sends what waits; resolves when it is sent or lost. It never rejects. */
  flush(): Promise<void>;
  /** Sends what waits, for `shutdownTimeoutMs` at most, and records nothing from now on. It never rejects. */
  shutdown(): Promise<void>;
  stats(): RecorderStats;
}

/**
 * Makes a client.
 * @throws TypeError when the address or the key cannot be one
 */
export function createWaymark(options: WaymarkOptions): Waymark {
  const transport = createTransport(options);
  const recorder = createRecorder(transport, options);
  const context = createRunContext<SpanRecord>();

  function begin({ agent_id, name, metadata }: TraceOptions) {
    const clock = createClock();
    const known = { agent_id: toText(agent_id), name: toName(name), status: "running", started_at: clock() };
    const metadataText = metadata ? toJsonText(metadata) : undefined;
    const text = `${JSON.stringify(known).slice(0, -1)}${metadataText ? `,"metadata":${metadataText}` : ""}}`;
    const lane = recorder.open(text);
    const trace: TraceHandle = {
      ...createTracing({ recorder, context, clock, lane }),
      id: lane?.created ?? Promise.resolve(undefined),
      async end(status) {
        if (!lane) return false;
        lane.endTrace({ status, ended_at: clock() });
        return recorder.settle(lane);
      },
    };
    /** Ends it where nobody waits: then calls may take their whole time. */
    const endInBackground = (status: "success" | "error") => {
      lane?.endTrace({ status, ended_at: clock() });
      void lane?.drain();
    };
    return { trace, endInBackground };
  }

  return {
    api: createApiClientOn(transport),
    startTrace: (options) => begin(options).trace,
    async trace(options, work) {
      for (let wait = recorder.room(); wait; wait = recorder.room()) await wait;
      const { trace, endInBackground } = begin(options);
      try {
        const result = await trace.run(options.name, (span) => work(span, trace), options);
        endInBackground("success");
        return result;
      } catch (error) {
        endInBackground("error");
        throw error;
      }
    },
    flush: recorder.flush,
    shutdown: recorder.shutdown,
    stats: recorder.stats,
  };
}
