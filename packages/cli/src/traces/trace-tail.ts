import {
  type ApiClient,
  type ListedTrace,
  type TraceQuery,
  WaymarkApiError,
  WaymarkConnectionError,
  WaymarkError,
} from "@waymark/client";
import { parseObject } from "../context/json.js";
import { reasonOf } from "../context/service.js";

export interface TailEvent {
  event: "new" | "changed";
  trace: ListedTrace;
}

interface TailOptions {
  api: Pick<ApiClient, "listTraces">;
  /** Opens the stream after an event's id, or from now on. */
  openStream(lastId: string | undefined): Promise<AsyncIterable<StreamPart>>;
  query: Omit<TraceQuery, "limit" | "cursor">;
  lines: number;
  signal: AbortSignal;
  onEvent(event: TailEvent): void;
  /** Called for the first of several failing requests, and for the next answer. */
  onTrouble(error: unknown): void;
  onRecovery(): void;
  /** Called when the service no longer knows the last event: changes since then are missing. */
  onGap(): void;
  sleep(ms: number): Promise<unknown>;
}

/** The pause before the stream is opened again: the least after an end, the most when nobody answers. */
const pauseMs = { min: 500, max: 5_000 };

/** Known traces; the least recently told is forgotten first. */
const maxKnown = 50_000;

/**
 * Reports new traces and changes of status until the signal aborts. After the first answer it opens the stream again after
 * each end, and goes on where it was.
 * @throws WaymarkError when the first request fails, or the service refuses a later one for good
 */
export async function tailTraces(options: TailOptions): Promise<void> {
  const { signal, onEvent } = options;
  const history = createHistory();
  let lastId: string | undefined;
  let waitMs = pauseMs.min;
  let isTroubled = false;
  for (let isFirst = true; !signal.aborted; ) {
    try {
      const parts = await options.openStream(lastId);
      if (isTroubled) options.onRecovery();
      isTroubled = false;
      // After the opening: what comes meanwhile is in the list or in the stream, or in both.
      if (isFirst) for (const trace of await readEarlier(options)) history.learn(trace);
      if (isFirst) for (const trace of history.last(options.lines)) onEvent({ event: "new", trace });
      isFirst = false;
      waitMs = pauseMs.min;
      for await (const part of parts) {
        lastId = part.id ?? lastId;
        if (part.event === "reset") options.onGap();
        const event = part.trace && history.learn(part.trace);
        if (event && part.trace) onEvent({ event, trace: part.trace });
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !isPassing(error)) throw error;
      if (!isTroubled) options.onTrouble(error);
      isTroubled = true;
      waitMs = Math.min(pauseMs.max, waitMs * 2);
    }
    await options.sleep(waitMs).catch(() => undefined);
  }
}

/** Oldest first. */
async function readEarlier({ api, query, lines, signal }: TailOptions): Promise<ListedTrace[]> {
  const { traces } = await api.listTraces({ ...query, limit: Math.max(lines, 1) }, { signal });
  return traces.toReversed();
}

/** Tells new traces from changed ones: an id that is later than all at the beginning is new, once. */
function createHistory() {
  const known = new Map<string, ListedTrace>();
  let newest: string | undefined;
  return {
    /** How a trace differs from what is known; undefined for not at all. */
    learn(trace: ListedTrace): TailEvent["event"] | undefined {
      const before = known.get(trace.id);
      known.delete(trace.id);
      known.set(trace.id, trace);
      const [oldest] = known.keys();
      if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
      if (before) return before.status === trace.status ? undefined : "changed";
      return newest === undefined || trace.id > newest ? "new" : "changed";
    },
    last(count: number): ListedTrace[] {
      for (const id of known.keys()) if (newest === undefined || id > newest) newest = id;
      return [...known.values()].slice(Math.max(0, known.size - count));
    },
  };
}

/** Whether a repetition may help: after no answer, too many requests, or a server error. */
function isPassing(error: unknown): boolean {
  if (error instanceof WaymarkApiError) return error.status >= 500 || error.status === 429;
  return error instanceof WaymarkError;
}

/** What a stream brought: a trace, the note that some may be missing, or an id alone. */
export interface StreamPart {
  /** The id to go on after; undefined leaves the one before. */
  id: string | undefined;
  event: "trace" | "reset" | "comment";
  trace: ListedTrace | undefined;
}

/** The service sends something every 10 seconds; a connection is broken after this silence. */
const maxSilenceMs = 30_000;

/**
 * Opens the live stream of the trace API, after an event or from now on.
 * @returns its parts; they end with the connection
 * @throws WaymarkApiError or WaymarkConnectionError without an open stream
 */
export async function openTraceStream(
  { url, key }: { url: string; key: string },
  query: Omit<TraceQuery, "limit" | "cursor">,
  { lastId, signal }: { lastId: string | undefined; signal: AbortSignal },
): Promise<AsyncIterable<StreamPart>> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("nothing came for 30 seconds")), maxSilenceMs);
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const answer = await fetch(`${url.replace(/\/+$/, "")}/api/v1/traces/stream?${search}`, {
    headers: { Authorization: `Bearer ${key}`, ...(lastId !== undefined && { "Last-Event-ID": lastId }) },
    signal: AbortSignal.any([signal, silence.signal]),
  }).catch((error: unknown) => {
    clearTimeout(timer);
    throw new WaymarkConnectionError(reasonOf(error), { cause: error });
  });
  if (answer.ok && answer.body) return readParts(answer.body, timer);
  clearTimeout(timer);
  throw await refusalOf(answer);
}

async function refusalOf(answer: Response): Promise<WaymarkApiError> {
  const { status, statusText, headers } = answer;
  const text = await answer.text();
  const body = parseObject<{ error: unknown; fields: Record<string, string> }>(text);
  const error = typeof body?.error === "string" ? body.error : statusText;
  const requestId = headers.get("X-Request-Id");
  const tried = { retryAfterMs: null, attempts: 1, body: body ?? text };
  return new WaymarkApiError({ status, error, fields: body?.fields ?? {}, requestId, ...tried });
}

/** Reads blocks of an event stream (HTML, 9.2.6), as the service writes them: a line end is `\n`, data one line. */
async function* readParts(body: ReadableStream<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<StreamPart> {
  const decoder = new TextDecoder();
  let tail = "";
  try {
    for await (const chunk of body) {
      timer.refresh();
      const blocks = (tail + decoder.decode(chunk, { stream: true })).split("\n\n");
      tail = blocks.pop() ?? "";
      yield* blocks.map(toPart);
    }
  } catch (error) {
    throw new WaymarkConnectionError(reasonOf(error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function toPart(block: string): StreamPart {
  const fields = new Map(
    block.split("\n").map((line): [string, string] => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const [id, event] = [fields.get("id"), fields.get("event")];
  const trace = event === "trace" ? (parseObject(fields.get("data") ?? "") as ListedTrace | undefined) : undefined;
  return { id, event: event === "reset" ? event : trace ? "trace" : "comment", trace };
}
