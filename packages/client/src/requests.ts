import { createAlarm } from "./alarm.js";
import { WaymarkApiError } from "./errors.js";
import { createTransport } from "./transport.js";

export interface RequestReporterOptions {
  /** The collector's address. */
  url: string;
  /** `wmk_trace_…`, of the scope `ingest`. */
  key: string | null | undefined;
  /** The site's domain, where the hosts of requests are others. */
  domain?: string;
  fetch?: typeof fetch;
  /** Receives the number of lost requests and the cause, at most once a minute; a line on the console by default. */
  onLoss?(lost: number, cause: unknown): void;
}

interface Reported {
  url: string;
  status: number | null;
  method: string;
  ip: string | null;
  user_agent: string | null;
  referrer: string | null;
  /** The headers by which an agent signs its requests (Web Bot Auth). */
  signature?: string;
  signature_input?: string;
  signature_agent?: string;
  at: string;
}

/** What is read of a request of Express, or of `node:http`. */
interface ServerRequest {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  method?: string | undefined;
  protocol?: string;
  originalUrl?: string;
  url?: string | undefined;
  ip?: string | undefined;
  socket?: { remoteAddress?: string | undefined } | undefined;
}

interface ServerResponse {
  statusCode: number;
  once(event: "close", listener: () => void): unknown;
}

/** What is read of a request of Next.js, or of the Fetch standard. */
interface FetchRequest {
  url: string;
  method: string;
  headers: { get(name: string): string | null };
}

/** Waiting requests, of some 500 bytes each; further ones are lost. */
const maxQueued = 5_000;
const maxBatch = 500;
const flushMs = 1_000;
const warnMs = 60_000;
const timeoutMs = 15_000;
const maxLength = 2_000;

/** A bounded queue of requests, and its sender. */
function createQueue({ url, key, domain, fetch, onLoss = warn }: RequestReporterOptions) {
  const send = createTransport({ url, key, ...(fetch && { fetch }) });
  let queue: Reported[] = [];
  let sending: Promise<void> | undefined;
  let lost = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function lose(requests: number, cause: unknown): void {
    lost += requests;
    if (performance.now() - warnedAt < warnMs) return;
    warnedAt = performance.now();
    onLoss(lost, cause);
    lost = 0;
  }

  function add(request: Reported): void {
    if (queue.length >= maxQueued) {
      lose(1, new Error("The queue is full"));
      return;
    }
    queue.push(request);
    alarm.at(performance.now() + (queue.length >= maxBatch ? 0 : flushMs));
  }

  async function post(requests: readonly Reported[]): Promise<void> {
    if (requests.length === 0) return;
    const body = JSON.stringify({ ...(domain !== undefined && { domain }), requests });
    try {
      await send({ method: "POST", path: "/api/requests", isWhole: true, body, timeoutMs });
    } catch (error) {
      const wrong = wrongPlaces(error);
      const good = requests.filter((_request, place) => !wrong.has(place));
      lose(good.length < requests.length ? requests.length - good.length : requests.length, error);
      if (good.length < requests.length) await post(good);
    }
  }

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await post(batch);
    }
  }

  async function flush(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    await sending;
  }
  const alarm = createAlarm(() => void flush());
  return { add, lose, flush };
}

/**
 * Makes the middleware that tells the collector which requests a server answered; the collector counts those of machines. It adds
 * to a queue, and sends it in the background: nothing waits for it and nothing of it throws.
 */
export function reportRequests(options: RequestReporterOptions) {
  const { add, lose, flush } = createQueue(options);
  return {
    /** For `app.use`, before the routes; behind a proxy set Express's `trust proxy`. */
    express(request: ServerRequest, response: ServerResponse, next: () => void): void {
      try {
        const seen = readServerRequest(request);
        response.once("close", () => add({ ...seen, status: response.statusCode }));
      } catch (error) {
        lose(1, error);
      }
      next();
    },
    /** For `proxy.ts` or `middleware.ts` of Next.js, which run before the answer: its status stays unknown. */
    next(request: FetchRequest, event?: { waitUntil(work: Promise<unknown>): void }): void {
      try {
        add(readFetchRequest(request));
        event?.waitUntil(flush());
      } catch (error) {
        lose(1, error);
      }
    },
    /** Sends what waits. Never rejects. */
    flush,
  };
}

function warn(lost: number, cause: unknown): void {
  console.warn(`waymark: ${lost} requests were not reported:`, cause);
}

/** The places of requests that the collector refused by name. */
function wrongPlaces(error: unknown): ReadonlySet<number> {
  const fields = error instanceof WaymarkApiError && error.status === 400 ? Object.keys(error.fields) : [];
  return new Set(fields.flatMap((name) => /^requests\.(\d+)\./.exec(name)?.[1] ?? []).map(Number));
}

/** Longer ones count as none, so the collector need not get them. */
const maxSignatureLength = 1_000;

function readSignature(header: (name: string) => string | string[] | null | undefined) {
  const [signature, input, agent] = ["signature", "signature-input", "signature-agent"].map((name) => header(name));
  if (!signature || !input || !agent) return undefined;
  const texts = { signature: String(signature), signature_input: String(input), signature_agent: String(agent) };
  return Object.values(texts).every((text) => text.length <= maxSignatureLength) ? texts : undefined;
}

const cut = (text: string | string[] | null | undefined) => (text ? String(text).slice(0, maxLength) : null);

function readServerRequest(request: ServerRequest): Reported {
  const { headers, method = "GET", protocol = "http", originalUrl, url = "/", ip, socket } = request;
  return {
    url: new URL(originalUrl ?? url, `${protocol}://${headers["host"]}`).href.slice(0, maxLength),
    status: null,
    method,
    ip: cut(ip ?? socket?.remoteAddress),
    user_agent: cut(headers["user-agent"]),
    referrer: cut(headers["referer"]),
    ...readSignature((name) => headers[name]),
    at: new Date().toISOString(),
  };
}

function readFetchRequest({ url, method, headers }: FetchRequest): Reported {
  const host = headers.get("host");
  const address = new URL(url);
  if (host !== null) address.host = host;
  return {
    url: address.href.slice(0, maxLength),
    status: null,
    method,
    ip: cut(headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? headers.get("x-real-ip")),
    user_agent: cut(headers.get("user-agent")),
    referrer: cut(headers.get("referer")),
    ...readSignature((name) => headers.get(name)),
    at: new Date().toISOString(),
  };
}
