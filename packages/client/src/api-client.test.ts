import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createApiClient, type WaymarkApiError, WaymarkConnectionError } from "./index.js";
import type { ConnectionOptions } from "./transport.js";

/** What the server does with its next request: an answer, or undefined to break the connection. */
type Step = { status: number; body?: unknown; headers?: Record<string, string>; afterMs?: number } | undefined;

const trace = { agent_id: "a", name: "n", status: "running", started_at: "2026-06-01T12:00:00Z" } as const;
const created: Step = { status: 201, body: { trace_id: "id-1" } };

let server: Server;
let steps: Step[] = [];
let asked: { method?: string; url?: string; key?: string; body: string; atMs: number }[] = [];

beforeEach(async () => {
  [steps, asked] = [[], []];
  server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method = "", url = "", headers } = request;
  asked.push({ method, url, key: String(headers["idempotency-key"]), body, atMs: performance.now() });
  const step = steps.shift();
  if (!step) return void request.socket.destroy();
  if (step.afterMs) await new Promise((resolve) => setTimeout(resolve, step.afterMs).unref());
  response.writeHead(step.status, step.headers);
  response.end(typeof step.body === "string" ? step.body : JSON.stringify(step.body ?? {}));
}

function connect(options: ConnectionOptions = {}) {
  const { port } = server.address() as AddressInfo;
  const retry = { baseMs: 5, ...options.retry };
  return createApiClient({ key: "wmk_trace_x", url: `http://127.0.0.1:${port}/`, ...options, retry });
}

describe("a call", () => {
  it("is tried again after network faults and passing refusals, with one idempotency key and the same bytes", async () => {
    const headers = { "Retry-After": "0" };
    const refusals = [408, 409, 429, 500, 502, 503, 504].map((status) => ({ status, headers }));
    steps = [undefined, ...refusals, { status: 201, body: '{"trace_id": "cut' }, created];
    expect(await connect().createTrace(trace)).toEqual({ trace_id: "id-1" });
    expect(asked).toHaveLength(10);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
    expect(asked[0]?.key).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(asked.map(({ body }) => body))).toEqual(new Set([JSON.stringify(trace)]));
  });

  it("has a key of its own, or the one that it is given", async () => {
    steps = [created, created, created];
    const api = connect();
    await api.createTrace(trace);
    await api.createTrace(trace);
    await api.createTrace(trace, { idempotencyKey: "mine" });
    expect(new Set(asked.map(({ key }) => key)).size).toBe(3);
    expect(asked[2]?.key).toBe("mine");
  });

  it("is not tried again where the answer stays the same", async () => {
    for (const status of [400, 401, 403, 404, 413, 422]) {
      steps = [{ status, body: { error: "no" } }, created];
      await expect(connect().createTrace(trace)).rejects.toMatchObject({ status, error: "no", attempts: 1 });
    }
    const monthly = { error: "Monthly trace limit reached. Upgrade to Pro.", limit: 1, current: 1, upgrade_url: "/" };
    steps = [{ status: 429, body: monthly, headers: { "Retry-After": "1" } }, created];
    await expect(connect().createTrace(trace)).rejects.toMatchObject({ status: 429, body: monthly, attempts: 1 });
  });

  it("waits as long as Retry-After says, and not at all where that is too long", async () => {
    steps = [{ status: 503, headers: { "Retry-After": "1" } }, created];
    await connect().createTrace(trace);
    expect((asked[1]?.atMs ?? 0) - (asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
    steps = [{ status: 503, headers: { "Retry-After": "31" } }, created];
    await expect(connect().createTrace(trace)).rejects.toMatchObject({ status: 503, retryAfterMs: 31_000 });
  });

  it("ends after its retries, and within its time", async () => {
    const limited = connect({ retry: { retries: 2 } }).createTrace(trace);
    await expect(limited).rejects.toBeInstanceOf(WaymarkConnectionError);
    expect(asked).toHaveLength(3);

    // Its time alone can end this one.
    const timed = connect({ timeoutMs: 300, retry: { retries: 1_000_000, maxMs: 20 } }).createTrace(trace);
    await expect(timed).rejects.toBeInstanceOf(WaymarkConnectionError);
  });

  it("gives up an attempt without an answer, and makes another one", async () => {
    steps = [{ status: 201, body: { trace_id: "late" }, afterMs: 60_000 }, created];
    expect(await connect({ attemptTimeoutMs: 1_000 }).createTrace(trace)).toEqual({ trace_id: "id-1" });
    steps = [{ status: 201, body: { trace_id: "late" }, afterMs: 60_000 }];
    await expect(connect().createTrace(trace, { timeoutMs: 100 })).rejects.toThrow(/no whole answer within 0\.1 s/);
  });

  it("ends with the reason of its signal, in flight and between attempts", async () => {
    for (const step of [
      { ...created, afterMs: 60_000 },
      { status: 503, headers: { "Retry-After": "30" } },
    ]) {
      steps = [step];
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error("enough")), 50);
      await expect(connect().createTrace(trace, { signal: stop.signal })).rejects.toThrow("enough");
    }
    const before = asked.length;
    await expect(connect().usage({ signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expect(asked).toHaveLength(before);
  });

  it("that deletes is done when the answer to its first attempt was lost", async () => {
    const gone: Step = { status: 404, body: { error: "Trace not found" } };
    steps = [undefined, gone];
    await connect().deleteTrace("id-1");
    steps = [gone];
    await expect(connect().deleteTrace("id-1")).rejects.toMatchObject({ status: 404 });
  });
});

describe("a refusal", () => {
  it("has what the service said", async () => {
    const fields = { "spans.1.started_at": "Required" };
    steps = [{ status: 400, body: { error: "Validation failed", fields }, headers: { "X-Request-Id": "r-1" } }];
    const error: WaymarkApiError = await connect()
      .addSpans("id-1", [])
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "WaymarkApiError", status: 400, error: "Validation failed", fields });
    expect(error.requestId).toBe("r-1");
    expect(error.message).toBe("400 Validation failed (spans.1.started_at: Required)");
  });

  it("by something else on the way has its text", async () => {
    steps = [{ status: 404, body: "<h1>nginx</h1>" }];
    await expect(connect().usage()).rejects.toMatchObject({ error: "Not Found", body: "<h1>nginx</h1>", fields: {} });
  });

  it("of a connection says why, and shows no key", async () => {
    const { port } = server.address() as AddressInfo;
    const api = connect({ key: "wmk_trace_secret", retry: { retries: 0 } });
    server.close();
    await once(server, "close");
    const error = await api.usage().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(WaymarkConnectionError);
    expect(error.message).toBe(`GET http://127.0.0.1:${port}/api/v1/usage: connect ECONNREFUSED 127.0.0.1:${port}`);
    expect(JSON.stringify(error) + error.stack + error.cause.stack).not.toContain("secret");
  });
});

describe("a client", () => {
  it("with an address or key that cannot be one fails at once", () => {
    expect(() => createApiClient({ url: "nowhere" })).toThrow("Invalid URL");
    expect(() => createApiClient({ key: "a\nb" })).toThrow(/invalid header value/i);
  });

  it("asks with the API's names, and goes on after an empty page", async () => {
    const page = (ids: string[], next_cursor: string | null): Step => ({
      status: 200,
      body: { traces: ids.map((id) => ({ id })), next_cursor },
    });
    steps = [page(["1", "2"], "c/1"), page([], "c2"), page(["3"], null)];
    const query = { agent_id: "a&b", status: ["error", "timeout"], from: new Date(0), limit: 2 } as const;
    const ids: string[] = [];
    for await (const { id } of connect().iterateTraces(query)) ids.push(id);
    expect(ids).toEqual(["1", "2", "3"]);
    const first = "/api/v1/traces?agent_id=a%26b&status=error%2Ctimeout&from=1970-01-01T00%3A00%3A00.000Z&limit=2";
    expect(asked.map(({ url }) => url)).toEqual([first, `${first}&cursor=c%2F1`, `${first}&cursor=c2`]);
  });
});
