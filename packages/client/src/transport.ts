import { WaymarkApiError, WaymarkConnectionError } from "./errors.js";
import { isRetryableStatus, type RetryLimits, resolveRetryLimits, retryAfterMs, retryDelayMs } from "./retry.js";
import { sleep } from "./sleep.js";

/** How the service is reached. */
export interface ConnectionOptions {
  /** The key of the trace service, `wmk_trace_…`. Leave it out where a server of yours on the way adds it. */
  key?: string | undefined;
  /** Where the service answers, with a path in front of `/api/v1` where there is one; `http://127.0.0.1:4100` where not given. */
  url?: string | undefined;
  /** How long a call may take with all its attempts; 60 s where not given. */
  timeoutMs?: number;
  /** How long one attempt may wait for the head of its answer; 15 s where not given. */
  attemptTimeoutMs?: number;
  retry?: Partial<RetryLimits>;
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** What a caller may add to a single call. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Instead of the client's `timeoutMs`. */
  timeoutMs?: number;
}

/** One call, with all its attempts. */
export interface Call extends CallOptions {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/api/v1`. */
  path: string;
  query?: URLSearchParams;
  /** JSON. */
  body?: string;
  idempotencyKey?: string;
  /** Whether the waits between attempts let a Node process end, since something else sees to the call then. */
  isIdle?: boolean;
}

/**
 * Makes a call, as often as it takes within the limits.
 * @returns the parsed body
 * @throws WaymarkApiError when the service refuses
 * @throws WaymarkConnectionError when no answer comes in time
 * @throws the signal's reason when the caller's signal aborts
 */
export type Transport = (call: Call) => Promise<unknown>;

const defaultTimeoutMs = 60_000;
const defaultAttemptTimeoutMs = 15_000;

/** Makes the one way in which requests leave. */
export function createTransport(options: ConnectionOptions): Transport {
  const base = (options.url ?? "http://127.0.0.1:4100").replace(/\/+$/, "");
  // A wrong address or key shows here, once, and not as a network fault that is worth another attempt.
  new URL(base);
  const authorization = new Headers(options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` });
  // Called as a method of something else, the browser's `fetch` throws.
  const send: typeof fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const limits = resolveRetryLimits(options.retry);

  return async (call) => {
    const url = `${base}/api/v1${call.path}${call.query && call.query.size > 0 ? `?${call.query}` : ""}`;
    const headers = new Headers(authorization);
    if (call.body !== undefined) headers.set("Content-Type", "application/json");
    if (call.idempotencyKey !== undefined) headers.set("Idempotency-Key", call.idempotencyKey);
    const init = { method: call.method, headers, ...(call.body !== undefined && { body: call.body }) };
    const endsAt = performance.now() + (call.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs);

    for (let attempt = 1; ; attempt++) {
      call.signal?.throwIfAborted();
      const timeLeftMs = endsAt - performance.now();
      const outcome = await attemptOnce(send, url, init, {
        attempt,
        signal: call.signal,
        timeLeftMs,
        headTimeoutMs: Math.min(timeLeftMs, options.attemptTimeoutMs ?? defaultAttemptTimeoutMs),
      });
      if ("body" in outcome) return outcome.body;
      call.signal?.throwIfAborted();
      const { error } = outcome;
      const delayMs = isWorthRetrying(error)
        ? retryDelayMs(limits, attempt, error instanceof WaymarkApiError ? error.retryAfterMs : null)
        : null;
      if (delayMs === null || performance.now() + delayMs >= endsAt) throw error;
      await sleep(delayMs, call.signal, call.isIdle);
    }
  };
}

function isWorthRetrying(error: WaymarkApiError | WaymarkConnectionError): boolean {
  if (error instanceof WaymarkConnectionError) return true;
  // A plan's limit goes away by an upgrade or the next month; both refusals say where to upgrade.
  if (typeof error.body === "object" && error.body !== null && "upgrade_url" in error.body) return false;
  return isRetryableStatus(error.status);
}

interface AttemptLimits {
  attempt: number;
  signal: AbortSignal | undefined;
  timeLeftMs: number;
  headTimeoutMs: number;
}

type Outcome = { body: unknown } | { error: WaymarkApiError | WaymarkConnectionError };

async function attemptOnce(
  send: typeof fetch,
  url: string,
  init: RequestInit,
  limits: AttemptLimits,
): Promise<Outcome> {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  limits.signal?.addEventListener("abort", onAbort);
  let timer = setTimeout(onAbort, limits.headTimeoutMs);
  const startedAt = performance.now();
  try {
    const response = await send(url, { ...init, signal: stop.signal });
    clearTimeout(timer);
    // A body may be large; it has the call's whole time.
    timer = setTimeout(onAbort, limits.timeLeftMs - (performance.now() - startedAt));
    const text = await response.text();
    if (!response.ok) return { error: toApiError(response, text, limits.attempt) };
    return { body: JSON.parse(text) };
  } catch (cause) {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const message = stop.signal.aborted ? `no whole answer within ${seconds} s` : reasonOf(cause);
    return { error: new WaymarkConnectionError(`${init.method} ${url}: ${message}`, { cause }) };
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener("abort", onAbort);
  }
}

function toApiError(response: Response, text: string, attempts: number): WaymarkApiError {
  const body = parseOrText(text);
  const said = typeof body === "object" && body !== null ? (body as { error?: unknown; fields?: unknown }) : {};
  return new WaymarkApiError({
    status: response.status,
    error: typeof said.error === "string" ? said.error : response.statusText || "no reason given",
    fields: isRecord(said.fields) ? said.fields : {},
    requestId: response.headers.get("X-Request-Id"),
    retryAfterMs: retryAfterMs(response.headers.get("Retry-After"), Date.now()),
    attempts,
    body,
  });
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isRecord(value: unknown): value is Record<string, string> {
  return typeof value === "object" && value !== null && Object.values(value).every((item) => typeof item === "string");
}

/** Node's `fetch failed` has the reason in its cause, and a name with several addresses a list of reasons in that. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { errors?: unknown[] } };
  const [reason] = [cause?.errors?.[0], cause, error].map(messageOf).filter((message) => message !== "");
  return reason ?? String(error);
}

/** By its shape, since an error may come from another realm. */
function messageOf(value: unknown): string {
  const message = typeof value === "object" && value !== null && "message" in value ? value.message : "";
  return typeof message === "string" ? message : "";
}
