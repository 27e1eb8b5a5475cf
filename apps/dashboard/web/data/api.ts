import { signal as createSignal } from "@preact/signals";
import { isOpenPath, localPath } from "./paths.js";

/** A refused or failed request. `status` is 0 without an answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: Readonly<Record<string, string>> = {},
    /** Further members of the answer, such as `upgrade_url`. */
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** Why the request as a whole was refused; undefined where `fields` say it. */
  get refusal(): string | undefined {
    if (Object.keys(this.fields).length > 0) return undefined;
    const { reason } = this.details;
    return typeof reason === "string" ? reason : this.message;
  }

  get isAway(): boolean {
    return this.status === 0 || (this.status >= 502 && this.status <= 504);
  }
}

export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError(500, error instanceof Error ? error.message : "Unknown error");
}

/** Whether the last read found the server or its database away. */
export const isAway = createSignal(false);

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface RequestOptions {
  body?: unknown;
  signal?: AbortSignal | undefined;
}

async function send(method: Method, path: string, { body, signal }: RequestOptions): Promise<Response> {
  const init: RequestInit = { method, headers: { accept: "application/json" } };
  if (signal) init.signal = signal;
  if (method !== "GET") {
    init.headers = { accept: "application/json", "content-type": "application/json" };
    init.body = JSON.stringify(body ?? {});
  }
  const response = await fetch(`/dashboard/api${path}`, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    if (method === "GET") isAway.value = true;
    throw new ApiError(0, "No connection to Waymark");
  });
  if (response.ok) {
    isAway.value = false;
    return response;
  }
  if (response.status === 401 && !isOpenPath(location.pathname)) leaveForSignIn();
  const error = await readError(response);
  if (method === "GET") isAway.value = error.isAway;
  throw error;
}

async function readError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const { error, fields, ...details } = (body ?? {}) as Record<string, unknown>;
  const message = typeof error === "string" ? error : `The server answered ${response.status}`;
  return new ApiError(response.status, message, (fields ?? {}) as Record<string, string>, details);
}

/** Loads the sign-in page anew, so that nothing of the ended session stays in memory. */
function leaveForSignIn(): void {
  const next = localPath(location.pathname + location.search);
  location.replace(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
}

async function sendJson<T>(method: Method, path: string, options: RequestOptions): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** Requests to `/dashboard/api`; paths start with a slash. They throw {@link ApiError}. */
export const api = {
  get: <T>(path: string, signal?: AbortSignal) => sendJson<T>("GET", path, { signal }),
  post: <T = void>(path: string, body?: unknown) => sendJson<T>("POST", path, { body }),
  put: <T = void>(path: string, body?: unknown) => sendJson<T>("PUT", path, { body }),
  patch: <T = void>(path: string, body?: unknown) => sendJson<T>("PATCH", path, { body }),
  delete: <T = void>(path: string, body?: unknown) => sendJson<T>("DELETE", path, { body }),
};
