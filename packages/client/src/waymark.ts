import { type ApiClient, createApiClientOn } from "./api-client.js";
import type { NewTrace, TraceLabels, TraceStatus } from "./api-types.js";
import { toJsonText, toName, toText } from "./json-text.js";
import { toLabels } from "./labels.js";
import { createRecorder, type RecorderOptions, type RecorderStats } from "./recorder.js";
import {
  createClock,
  createTraceContext,
  createTracing,
  type RunOptions,
  type SpanHandle,
  type SpanParent,
} from "./span-handle.js";
import { type SpanRecord, toObject } from "./span-record.js";
import { type ConnectionOptions, createTransport } from "./transport.js";

export interface WaymarkOptions extends ConnectionOptions, RecorderOptions {}

export type TraceOptions = Pick<NewTrace, "agent_id" | "name" | "metadata"> & TraceLabels;

export interface TraceHandle extends SpanParent {
  /** The service's id, or undefined if the trace could not be created. Never rejects. */
  readonly id: Promise<string | undefined>;
  /**
   * Ends the trace and sends the rest of it within `endTimeoutMs`. Never rejects.
   * @returns whether all of it is stored; the rest is lost and reported to `onError`
   */
  end(status: Exclude<TraceStatus, "running">): Promise<boolean>;
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
  /** Labels the traces that begin in a function, on Node also after its awaits; inner labels win. Browsers only call it. */
  propagate<T>(labels: TraceLabels, work: () => T): T;
  /** Sends the queue; resolves when all of it is stored or lost. Never rejects. */
  flush(): Promise<void>;
  /** Stops recording and sends the queue within `shutdownTimeoutMs`. Never rejects. */
  shutdown(): Promise<void>;
  stats(): RecorderStats;
}

/** @throws TypeError if the address or the key is malformed */
export function createWaymark(options: WaymarkOptions): Waymark {
  const transport = createTransport(options);
  const recorder = createRecorder(transport, options);
  const context = createTraceContext<SpanRecord>();
  const propagated = createTraceContext<TraceLabels>();

  function begin({ agent_id, name, metadata, ...own }: TraceOptions) {
    const clock = createClock();
    const labels = toLabels({ ...propagated.current(), ...own });
    const known = { agent_id: toText(agent_id), name: toName(name), status: "running", started_at: clock(), ...labels };
    const queue = recorder.open(toObject(known, { metadata: metadata ? toJsonText(metadata) : undefined }));
    const trace: TraceHandle = {
      ...createTracing({ recorder, context, clock, queue }),
      id: queue?.created ?? Promise.resolve(undefined),
      async end(status) {
        if (!queue) return false;
        queue.endTrace({ status, ended_at: clock() });
        return recorder.settle(queue);
      },
    };
    /** Without a caller that waits, requests may take their whole time. */
    const endInBackground = (status: "success" | "error") => {
      queue?.endTrace({ status, ended_at: clock() });
      void queue?.drain();
    };
    return { trace, endInBackground };
  }

  return {
    api: createApiClientOn(transport),
    startTrace: (options) => begin(options).trace,
    async trace(options, work) {
      for (let wait = recorder.backpressure(); wait; wait = recorder.backpressure()) await wait;
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
    propagate: (labels, work) => propagated.run({ ...propagated.current(), ...labels }, work),
    flush: recorder.flush,
    shutdown: recorder.shutdown,
    stats: recorder.stats,
  };
}
