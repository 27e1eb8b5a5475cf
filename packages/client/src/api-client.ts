import type {
  Agent,
  AgentPage,
  AgentQuery,
  BatchSpan,
  ListedTrace,
  NewSpan,
  NewTrace,
  SpanChange,
  SpanKind,
  Trace,
  TraceChange,
  TracePage,
  TracePart,
  TraceQuery,
  Usage,
} from "./api-types.js";
import { WaymarkApiError } from "./errors.js";
import { createReads, type ReadingCalls, type ReadQuery, readEvents, type StreamEvent, toParameters } from "./reads.js";
import {
  type Call,
  type CallOptions,
  type ConnectionOptions,
  createTransport,
  newIdempotencyKey,
  type Transport,
} from "./transport.js";

export interface CreateOptions extends CallOptions {
  /** Default a new one per call. Repeat your own after a crash, so that nothing is stored twice. */
  idempotencyKey?: string;
}

interface TraceChoice {
  include?: TracePart | readonly TracePart[];
  /** Only spans of these kinds. */
  kind?: SpanKind | readonly SpanKind[];
}

/**
 * The calls of the trace API, one to one. Every call retries while that can help; a POST repeats its `Idempotency-Key`, so it
 * stores once. Calls reject with a `WaymarkError` or with the reason of an aborted signal.
 */
export interface ApiClient extends ReadingCalls {
  createTrace(trace: NewTrace, options?: CreateOptions): Promise<{ trace_id: string }>;
  addSpan(traceId: string, span: NewSpan, options?: CreateOptions): Promise<{ span_id: string }>;
  /** Adds 1 to 1,000 spans, all or none; returns their ids in order. */
  addSpans(traceId: string, spans: readonly BatchSpan[], options?: CreateOptions): Promise<{ span_ids: string[] }>;
  updateSpan(traceId: string, spanId: string, change: SpanChange, options?: CallOptions): Promise<void>;
  finalizeTrace(traceId: string, change: TraceChange, options?: CallOptions): Promise<void>;
  getTrace(traceId: string, options?: CallOptions & TraceChoice): Promise<Trace>;
  listTraces(query?: TraceQuery, options?: CallOptions): Promise<TracePage>;
  /** All matching traces, newest first, page by page. */
  iterateTraces(query?: TraceQuery, options?: CallOptions): AsyncGenerator<ListedTrace, void, void>;
  listAgents(query?: AgentQuery, options?: CallOptions): Promise<AgentPage>;
  /** All agents by id, page by page. */
  iterateAgents(query?: AgentQuery, options?: CallOptions): AsyncGenerator<Agent, void, void>;
  usage(options?: CallOptions): Promise<Usage>;
  deleteTrace(traceId: string, options?: CallOptions): Promise<void>;
  /** Scores a trace, or with `span_id` one of its spans. */
  addScore(traceId: string, score: NewScore, options?: CreateOptions): Promise<{ score_id: string }>;
  /** New traces and changes of status, until the service ends the stream or `signal` aborts. */
  streamTraces(query?: ReadQuery, options?: StreamOptions): AsyncGenerator<StreamEvent, void, void>;
}

export interface NewScore {
  name: string;
  value: number | boolean | string;
  comment?: string | null;
  span_id?: string;
}

export interface StreamOptions {
  signal?: AbortSignal;
  /** The `id` of the last event of an earlier stream. */
  lastEventId?: string | undefined;
}

export function createApiClient(options: ConnectionOptions): ApiClient {
  return createApiClientOn(createTransport(options));
}

export function createApiClientOn(transport: Transport): ApiClient {
  async function call<Body>(request: Call): Promise<Body> {
    return (await transport(request)) as Body;
  }
  function create<Body>(path: string, body: unknown, options: CreateOptions = {}): Promise<Body> {
    const { idempotencyKey = newIdempotencyKey(), ...rest } = options;
    return call<Body>({ ...rest, method: "POST", path, body: JSON.stringify(body), idempotencyKey });
  }
  const api: ApiClient = {
    ...createReads(transport),
    addScore(traceId, { span_id, ...score }, options) {
      const of = span_id === undefined ? "" : `/spans/${encodeURIComponent(span_id)}`;
      return create(`${tracePath(traceId)}${of}/scores`, score, options);
    },
    async *streamTraces(query, { signal, lastEventId } = {}) {
      const headers = { Accept: "text/event-stream", ...(lastEventId && { "Last-Event-ID": lastEventId }) };
      const call = { method: "GET", path: "/traces/stream", query: toParameters(query), headers } as const;
      const body = (await transport({
        ...call,
        ...(signal && { signal }),
        isStream: true,
      })) as ReadableStream<Uint8Array>;
      yield* readEvents(body);
    },
    createTrace: (trace, options) => create("/traces", trace, options),
    addSpan: (traceId, span, options) => create(`${tracePath(traceId)}/spans`, span, options),
    addSpans: (traceId, spans, options) => create(`${tracePath(traceId)}/spans/batch`, { spans }, options),
    async updateSpan(traceId, spanId, change, options) {
      const path = `${tracePath(traceId)}/spans/${encodeURIComponent(spanId)}`;
      await call({ ...options, method: "PATCH", path, body: JSON.stringify(change) });
    },
    async finalizeTrace(traceId, change, options) {
      await call({ ...options, method: "PATCH", path: tracePath(traceId), body: JSON.stringify(change) });
    },
    getTrace(traceId, { include, kind, ...options } = {}) {
      return call({ ...options, method: "GET", path: tracePath(traceId), query: toParameters({ include, kind }) });
    },
    listTraces: (query, options) => call({ ...options, method: "GET", path: "/traces", query: toParameters(query) }),
    iterateTraces: (query, options) => iterate(query, (page) => api.listTraces(page, options), "traces"),
    listAgents: (query, options) => call({ ...options, method: "GET", path: "/agents", query: toParameters(query) }),
    iterateAgents: (query, options) => iterate(query, (page) => api.listAgents(page, options), "agents"),
    usage: (options) => call({ ...options, method: "GET", path: "/usage" }),
    deleteTrace: (traceId, options) =>
      deleteOnce(transport, { ...options, method: "DELETE", path: tracePath(traceId) }),
  };
  return api;
}

function tracePath(traceId: string): string {
  return `/traces/${encodeURIComponent(traceId)}`;
}

/** A repeated delete that finds nothing has succeeded: only its first answer was lost. */
async function deleteOnce(transport: Transport, call: Call): Promise<void> {
  try {
    await transport(call);
  } catch (error) {
    if (!(error instanceof WaymarkApiError && error.status === 404 && error.attempts > 1)) throw error;
  }
}

/** An empty page is not the last one while it has a `next_cursor`. */
async function* iterate<Name extends string, Item, Query extends object>(
  query: Query | undefined,
  read: (query: Query) => Promise<{ next_cursor: string | null } & Record<Name, Item[]>>,
  name: Name,
): AsyncGenerator<Item, void, void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await read({ ...query, ...(cursor !== undefined && { cursor }) } as Query);
    yield* page[name];
    cursor = page.next_cursor;
  }
}
