import { WaymarkApiError, WaymarkConnectionError } from "./errors.js";
import { isRetryableStatus, type RetryLimits, resolveRetryLimits, retryAfterMs, retryDelayMs } from "./retry.js";

export interface ConnectionOptions {
  /** `wmk_trace_…`; null if a server of yours adds it on the way. */
  key?: string | null | undefined;
  /** The service's address, with any path before `/api/v1`; default `http://127.0.0.1:4100`. */
  url?: string | undefined;
  /** For a call with all its attempts; default 60,000. */
  timeoutMs?: number;
  /** For the head of one attempt's answer; default 10,000. */
  attemptTimeoutMs?: number;
  retry?: Partial<RetryLimits>;
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface Call extends CallOptions {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/api/v1`, unless it is whole. */
  path: string;
  isWhole?: boolean;
  query?: URLSearchParams;
  /** JSON. */
  body?: string;
  idempotencyKey?: string;
  headers?: Readonly<Record<string, string>>;
  /** Returns the body itself, once the answer has begun. */
  isStream?: boolean;
}

/**
 * Makes a call, with retries, and returns the parsed body.
 * @throws WaymarkApiError if the service refuses
 * @throws WaymarkConnectionError if no answer comes in time
 * @throws the signal's reason if the caller aborts
 */
export type Transport = (call: Call) => Promise<unknown>;

/** What is read of a `Response`. */
export type Answer = Pick<Response, "ok" | "status" | "statusText" | "text"> & {
  body?: Response["body"];
  headers: Pick<Headers, "get">;
};
export type Send = (url: string, init: SendInit) => Promise<Answer>;
export interface SendInit {
  method: string;
  headers: Headers;
  body?: string;
  signal: AbortSignal;
}

const defaultUrl = "http://127.0.0.1:4100";
const defaultTimeoutMs = 60_000;
export const defaultAttemptTimeoutMs = 10_000;

export interface Connection {
  readonly base: string;
  /** One attempt, which does not reject. */
  attempt(call: Call, limits: AttemptLimits, send?: Send): Promise<Outcome>;
}

/** @throws TypeError if the address or the key is malformed */
export function createConnection(options: ConnectionOptions): Connection {
  const base = (options.url ?? defaultUrl).replace(/\/+$/, "");
  new URL(base);
  const authorization = new Headers(options.key ? { Authorization: `Bearer ${options.key}` } : {});
  // The browser's `fetch` throws as a method of another object.
  const own: Send = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  return {
    base,
    attempt(call, limits, send = own) {
      const url = `${base}${call.isWhole ? "" : "/api/v1"}${call.path}${call.query && call.query.size > 0 ? `?${call.query}` : ""}`;
      const headers = new Headers(authorization);
      for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
      if (call.body !== undefined) headers.set("Content-Type", "application/json");
      if (call.idempotencyKey !== undefined) headers.set("Idempotency-Key", call.idempotencyKey);
      const init = { method: call.method, headers, ...(call.body !== undefined && { body: call.body }) };
      return attemptOnce(send, url, init, { ...limits, isStream: call.isStream });
    },
  };
}

export function createTransport(options: ConnectionOptions, connection = createConnection(options)): Transport {
  const limits = resolveRetryLimits(options.retry);
  return async (call) => {
    const endsAt = performance.now() + (call.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs);
    for (let attempt = 1; ; attempt++) {
      call.signal?.throwIfAborted();
      const timeLeftMs = endsAt - performance.now();
      const outcome = await connection.attempt(call, {
        attempt,
        signal: call.signal,
        timeLeftMs,
        headTimeoutMs: Math.min(timeLeftMs, options.attemptTimeoutMs ?? defaultAttemptTimeoutMs),
      });
      if ("body" in outcome) return outcome.body;
      call.signal?.throwIfAborted();
      const delayMs = delayAfter(outcome.error, limits, attempt);
      if (delayMs === null || performance.now() + delayMs >= endsAt) throw outcome.error;
      await sleep(delayMs, call.signal);
    }
  };
}

/** The wait before the next attempt; null where none can help. */
export function delayAfter(error: Failure, limits: RetryLimits, attempt: number): number | null {
  if (!isWorthRetrying(error)) return null;
  return retryDelayMs(limits, attempt, error instanceof WaymarkApiError ? error.retryAfterMs : null);
}

function isWorthRetrying(error: Failure): boolean {
  if (error instanceof WaymarkConnectionError) return true;
  // Refusals by the plan have this field; they last until an upgrade or the next month.
  if (typeof error.body === "object" && error.body !== null && "upgrade_url" in error.body) return false;
  return isRetryableStatus(error.status);
}

interface AttemptLimits {
  attempt: number;
  signal?: AbortSignal | undefined;
  timeLeftMs: number;
  headTimeoutMs: number;
  /** On Node: the attempt's clock does not keep the process alive. */
  isIdle?: boolean;
  isStream?: boolean | undefined;
}

export type Failure = WaymarkApiError | WaymarkConnectionError;
type Outcome = { body: unknown } | { error: Failure };

async function attemptOnce(
  send: Send,
  url: string,
  init: Omit<SendInit, "signal">,
  limits: AttemptLimits,
): Promise<Outcome> {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  limits.signal?.addEventListener("abort", onAbort);
  const startedAt = performance.now();
  const abortAfter = (ms: number) => {
    const timer = setTimeout(onAbort, ms);
    if (limits.isIdle && typeof timer === "object") timer.unref();
    return timer;
  };
  let timer = abortAfter(limits.headTimeoutMs);
  try {
    const response = await send(url, { ...init, signal: stop.signal });
    clearTimeout(timer);
    if (limits.isStream && response.ok && response.body) {
      if (limits.signal) limits.signal.addEventListener("abort", () => stop.abort(), { once: true });
      return { body: response.body };
    }
    // A large body may take the rest of the call's time.
    timer = abortAfter(limits.timeLeftMs - (performance.now() - startedAt));
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

function toApiError(response: Answer, text: string, attempts: number): WaymarkApiError {
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

/** The reason behind Node's `fetch failed`: its cause, or the first of several causes. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { errors?: unknown[] } };
  const [reason] = [cause?.errors?.[0], cause, error].map(messageOf).filter((message) => message !== "");
  return reason ?? String(error);
}

/** Not by `instanceof`: an error may come from another realm. */
function messageOf(value: unknown): string {
  const message = typeof value === "object" && value !== null && "message" in value ? value.message : "";
  return typeof message === "string" ? message : "";
}

/** @throws the signal's reason when it aborts */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** 128 random bits. Unlike `randomUUID` this also works in pages without TLS. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
