import { type ListedTrace, type TraceQuery, WaymarkApiError, WaymarkConnectionError } from "@waymark/client";

/** What a stream brought: a trace, the note that some may be missing, or an id alone. */
export interface StreamPart {
  /** The id to go on after; undefined leaves the one before. */
  id: string | undefined;
  event: "trace" | "reset" | "comment";
  trace: ListedTrace | undefined;
}

export interface StreamService {
  url: string;
  key: string;
}

/** The service sends something every 10 seconds; a connection is broken after this silence. */
const maxSilenceMs = 30_000;

/**
 * Opens the live stream of the trace API, after an event or from now on.
 * @returns its parts; they end with the connection
 * @throws WaymarkApiError or WaymarkConnectionError without an open stream
 */
export async function openTraceStream(
  { url, key }: StreamService,
  query: Omit<TraceQuery, "limit" | "cursor">,
  { lastId, signal }: { lastId: string | undefined; signal: AbortSignal },
): Promise<AsyncIterable<StreamPart>> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("nothing came for 30 seconds")), maxSilenceMs);
  const answer = await fetch(`${url.replace(/\/+$/, "")}/api/v1/traces/stream${searchOf(query)}`, {
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

function searchOf(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size > 0 ? `?${parameters}` : "";
}

async function refusalOf(answer: Response): Promise<WaymarkApiError> {
  const text = await answer.text();
  const body = parse(text) as { error?: unknown; fields?: Record<string, string> } | undefined;
  const error = typeof body?.error === "string" ? body.error : answer.statusText;
  const fields = body?.fields ?? {};
  const requestId = answer.headers.get("X-Request-Id");
  return new WaymarkApiError({
    status: answer.status,
    error,
    fields,
    requestId,
    retryAfterMs: null,
    attempts: 1,
    body: body ?? text,
  });
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
  const event = fields.get("event");
  const id = fields.get("id");
  if (event === "reset") return { id, event, trace: undefined };
  const trace = event === "trace" ? parse(fields.get("data") ?? "") : undefined;
  return trace === undefined
    ? { id, event: "comment", trace: undefined }
    : { id, event: "trace", trace: trace as ListedTrace };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch failed` has the reason as its cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== "" ? cause.message : String((error as Error).message ?? error);
}
