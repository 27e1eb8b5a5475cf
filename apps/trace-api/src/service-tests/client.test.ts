import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import {
  createApiClient,
  createWaymark,
  type Span,
  type Trace,
  type Waymark,
  type WaymarkLossError,
  type WaymarkOptions,
} from "@waymark/client";
import { type TestAccount, useApp } from "../app.fixture.js";
import { type Fate, type FaultyProxy, openFaultyProxy } from "./faulty-proxy.fixture.js";

const bodyLimitBytes = 65_536;
const test = useApp({ bodyLimitBytes });
let server: Server;
let url: string;
let account: TestAccount;
let opened: (Waymark | FaultyProxy)[] = [];

beforeAll(async () => {
  server = test.app.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${portOf(server)}`;
  account = await test.makeAccount("pro");
});
afterEach(async () => {
  await Promise.all(opened.map((one) => ("shutdown" in one ? one.shutdown() : one.close())));
  opened = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function portOf(listening: Server): number {
  return (listening.address() as AddressInfo).port;
}

/** A client, and its reported losses. */
function connect(options: WaymarkOptions = {}): { waymark: Waymark; losses: WaymarkLossError[] } {
  const losses: WaymarkLossError[] = [];
  const retry = { baseMs: 5, ...options.retry };
  const base = { key: account.key, url, onError: (error: WaymarkLossError) => void losses.push(error) };
  const waymark = createWaymark({ ...base, ...options, retry });
  opened.push(waymark);
  return { waymark, losses };
}

async function faulty(decide: (count: number, what: string) => Fate): Promise<FaultyProxy> {
  const proxy = await openFaultyProxy(portOf(server), decide);
  opened.push(proxy);
  return proxy;
}

const read = async (id: string | undefined): Promise<Trace> => (await account.get(`/api/v1/traces/${id}`)).body;

/** The tree of a trace: names, with those below them. */
function treeOf({ spans }: Trace): unknown {
  const below = (id: string | null): unknown =>
    Object.fromEntries(spans.filter((span) => span.parent_span_id === id).map((span) => [span.name, below(span.id)]));
  return below(null);
}

const spanOf = (trace: Trace, name: string): Span | undefined => trace.spans.find((span) => span.name === name);
const options = { agent_id: "agent", name: "A run" };

describe("calls", () => {
  it("do what the API does, each of them", async () => {
    const { api } = connect().waymark;
    const started_at = "2026-06-01T12:00:00.000Z";
    const { trace_id } = await api.createTrace({ agent_id: "calls", name: "All calls", status: "running", started_at });
    const { span_id } = await api.addSpan(trace_id, { name: "one", status: "ok", started_at, input: { n: 1 } });
    const { span_ids } = await api.addSpans(trace_id, [
      { name: "two", status: "ok", started_at, ref: "r", parent_span_id: span_id },
      { name: "three", status: "ok", started_at, parent_ref: "r", kind: "tool" },
    ]);
    await api.updateSpan(trace_id, span_id, { status: "error", error: "no", output: [1], ended_at: started_at });
    await api.finalizeTrace(trace_id, { status: "error", ended_at: "2026-06-01T12:00:02.000Z" });

    const trace = await api.getTrace(trace_id, { include: "attributes" });
    expect(trace).toMatchObject({ id: trace_id, agent_id: "calls", status: "error" });
    expect(trace.spans.map(({ id }) => id)).toEqual([span_id, ...span_ids]);
    expect(trace.spans[0]).toMatchObject({ status: "error", error: "no", input: { n: 1 }, output: [1] });
    expect(trace.spans[0]).toHaveProperty("attributes", null);
    expect(treeOf(trace)).toEqual({ one: { two: { three: {} } } });
    const { spans } = await api.getTrace(trace_id, { include: "kind", kind: ["tool", "model"] });
    expect(spans).toMatchObject([{ name: "three", kind: "tool" }]);

    const query = { agent_id: "calls", status: ["error", "success"], name: "all", min_duration_ms: 2_000 } as const;
    const listed = { id: trace_id, agent_id: "calls", name: "All calls", status: "error", duration_ms: 2_000 };
    expect(await api.listTraces(query)).toMatchObject({ traces: [listed], next_cursor: null });
    const found: string[] = [];
    for (let n = 0; n < 4; n++)
      await api.createTrace({ agent_id: "many", name: `${n}`, status: "running", started_at });
    for await (const { name } of api.iterateTraces({ agent_id: "many", limit: 2 })) found.push(name);
    expect(found.sort()).toEqual(["0", "1", "2", "3"]);

    const agents: string[] = [];
    for await (const { id } of api.iterateAgents({ limit: 1 })) agents.push(id);
    expect(agents).toEqual(["calls", "many"]);
    expect(await api.usage()).toMatchObject({ plan: "pro", traces: { limit: 50_000, current: 5 } });

    await api.deleteTrace(trace_id);
    await expect(api.getTrace(trace_id)).rejects.toMatchObject({ status: 404, error: "Trace not found" });
    await expect(api.deleteTrace(trace_id)).rejects.toMatchObject({ status: 404 });
  });

  it("reject with what the service says is wrong", async () => {
    const { api } = connect().waymark;
    const broken = { agent_id: "a", name: "n", status: "running", started_at: "yesterday" } as const;
    await expect(api.createTrace(broken)).rejects.toMatchObject({
      status: 400,
      error: "Validation failed",
      fields: { started_at: expect.any(String) },
      requestId: expect.stringMatching(/.{8}/),
      attempts: 1,
    });
    const stranger = createApiClient({ key: "wmk_trace_x", url });
    await expect(stranger.usage()).rejects.toMatchObject({ status: 401, error: "Invalid API key" });
  });

  it("that create are replayed when the same key is given again", async () => {
    const { api } = connect().waymark;
    const trace = { agent_id: "agent", name: "n", status: "running", started_at: "2026-06-01T12:00:00Z" } as const;
    const first = await api.createTrace(trace, { idempotencyKey: "mine" });
    expect(await api.createTrace(trace, { idempotencyKey: "mine" })).toEqual(first);
    const other = api.createTrace({ ...trace, name: "m" }, { idempotencyKey: "mine" });
    await expect(other).rejects.toMatchObject({ status: 422, attempts: 1 });
  });
});

describe("recording", () => {
  it("keeps input, output, error, duration and place of each run, and gives back what it returns or throws", async () => {
    const { waymark, losses } = connect();
    const trace = waymark.startTrace({ ...options, metadata: { model: "m" } });
    const failure = new TypeError("refused");
    const result = await trace.run("outer", async (outer) => {
      await trace.run("found by itself", () => undefined);
      const inner = outer.span("by hand", { input: "in" });
      const rethrown = await inner.run("fails", () => Promise.reject(failure)).catch((error) => error);
      expect(rethrown).toBe(failure);
      inner.end({ output: { deep: ["x"] } });
      await expect(outer.run("throws", () => void JSON.parse("{"))).rejects.toThrow("JSON");
      await outer.run("secret", () => "password", { output: (text) => text.length });
      await new Promise((resolve) => setTimeout(resolve, 30));
      return 42;
    });
    expect(result).toBe(42);
    await trace.end("error");
    expect(await waymark.flush()).toBe(true);
    expect(losses).toEqual([]);

    const stored = await read(await trace.id);
    expect(stored).toMatchObject({ agent_id: "agent", name: "A run", status: "error", metadata: { model: "m" } });
    expect(treeOf(stored)).toEqual({
      outer: { "found by itself": {}, "by hand": { fails: {} }, throws: {}, secret: {} },
    });
    const outer = spanOf(stored, "outer");
    expect(outer).toMatchObject({ status: "ok", output: 42, input: null, error: null });
    const lasted = Date.parse(outer?.ended_at ?? "") - Date.parse(outer?.started_at ?? "");
    expect(lasted).toBeGreaterThanOrEqual(28);
    expect(spanOf(stored, "by hand")).toMatchObject({ status: "ok", input: "in", output: { deep: ["x"] } });
    expect(spanOf(stored, "fails")).toMatchObject({ status: "error", error: "TypeError: refused", output: null });
    expect(spanOf(stored, "throws")).toMatchObject({ status: "error", error: expect.stringContaining("JSON") });
    expect(spanOf(stored, "secret")).toMatchObject({ output: 8 });
    expect(spanOf(stored, "found by itself")).toMatchObject({ status: "ok", output: null });
    expect(stored.ended_at && stored.ended_at >= (outer?.ended_at ?? "z")).toBe(true);
  });

  it("shows a span while it runs, and closes it later", async () => {
    const { waymark } = connect();
    const trace = waymark.startTrace(options);
    const long = trace.span("long", { input: { a: 1 } });
    await waymark.flush();
    const child = long.span("child");
    await waymark.flush();
    expect(spanOf(await read(await trace.id), "long")).toMatchObject({ status: "ok", ended_at: null, input: { a: 1 } });
    child.end();
    long.end({ error: "late", output: 1 });
    long.end({ output: "ignored" });
    await waymark.flush();
    const stored = await read(await trace.id);
    expect(stored.status).toBe("running");
    expect(treeOf(stored)).toEqual({ long: { child: {} } });
    expect(spanOf(stored, "long")).toMatchObject({ status: "error", error: "late", output: 1, input: { a: 1 } });
    expect(spanOf(stored, "long")?.ended_at).toMatch(/Z$/);
    expect(await long.id).toBe(spanOf(stored, "long")?.id);
    expect(waymark.stats()).toMatchObject({ queued: 0, queuedBytes: 0, sent: { traces: 1, spans: 2 } });
  });

  it("sends by itself after its interval", async () => {
    const { waymark } = connect({ flushIntervalMs: 20 });
    const trace = waymark.startTrace(options);
    expect(await trace.span("a step").id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("of one function makes a trace with a first span", async () => {
    const { waymark } = connect();
    let id: Promise<string | undefined> | undefined;
    const work = { ...options, input: "question" };
    const result = await waymark.trace(work, async (span, trace) => {
      id = trace.id;
      return span.run("step", () => "answer");
    });
    expect(result).toBe("answer");
    await expect(waymark.trace({ ...options, name: "Bad" }, () => Promise.reject(new Error("no")))).rejects.toThrow(
      "no",
    );
    await waymark.flush();
    const stored = await read(await id);
    expect(stored.status).toBe("success");
    expect(treeOf(stored)).toEqual({ "A run": { step: {} } });
    expect(spanOf(stored, "A run")).toMatchObject({ input: "question", output: "answer" });
    const { traces } = await waymark.api.listTraces({ name: "bad" });
    expect(traces).toMatchObject([{ status: "error" }]);
  });

  it("keeps the tree of 2,500 spans over several batches", async () => {
    const { waymark, losses } = connect({ maxBatchSpans: 400 });
    const trace = waymark.startTrace(options);
    const chains = Array.from({ length: 50 }, (_, n) => trace.span(`${n}`));
    const ids = [];
    for (let depth = 1; depth < 50; depth++) {
      for (const [n, parent] of chains.entries()) {
        const next = parent.span(`${n}.${depth}`);
        chains[n] = next;
        ids.push(next.id);
        parent.end({ output: depth });
      }
    }
    for (const last of chains) last.end();
    await trace.end("success");
    expect(await waymark.flush()).toBe(true);
    expect(losses).toEqual([]);
    const { spans } = await read(await trace.id);
    expect(spans).toHaveLength(2_500);
    const nameOf = new Map(spans.map((span) => [span.id, span.name]));
    for (const { name, parent_span_id, ended_at } of spans) {
      const [chain = "", depth = "0"] = name.split(".");
      const parent = Number(depth) > 1 ? `${chain}.${Number(depth) - 1}` : Number(depth) === 1 ? chain : undefined;
      expect(parent_span_id === null ? undefined : nameOf.get(parent_span_id)).toBe(parent);
      expect(ended_at).not.toBeNull();
    }
    expect(new Set((await Promise.all(ids)).map((id) => nameOf.get(id ?? ""))).size).toBe(2_450);
  });

  it("tells values that are no JSON in their place", async () => {
    const { waymark } = connect();
    const trace = waymark.startTrace({ ...options, name: `${"x".repeat(2_000)}\ud800` });
    await trace.run("", () => 1n, { input: "cut \ud83d" });
    await trace.end("success");
    expect(await waymark.flush()).toBe(true);
    const stored = await read(await trace.id);
    expect(stored.name).toHaveLength(1_000);
    expect(stored.spans).toMatchObject([{ name: "(no name)", input: "cut \ufffd", output: 1 }]);
  });
});

describe("what goes wrong", () => {
  it("with one span does not take the others of its batch with it", async () => {
    // The SDK itself makes neither a value of this depth nor this error.
    const deep = `${"[".repeat(300)}${"]".repeat(300)}`;
    const spoil: typeof fetch = (to, init) =>
      fetch(to, { ...init, body: String(init?.body).replace('"DEEP"', deep).replace('"NAMED"', '1,"error":7') });
    const { waymark, losses } = connect({ fetch: spoil });
    const trace = waymark.startTrace(options);
    const parent = trace.span("parent");
    const wrong = parent.span("wrong", { input: "DEEP" });
    const child = wrong.span("child of wrong");
    // With and without a field named as wrong.
    const named = parent.span("named", { input: "NAMED" });
    named.end();
    for (const span of [child, wrong, parent]) span.end();
    for (let n = 0; n < 20; n++) trace.span(`${n}`).end();
    await trace.end("success");
    expect(await waymark.flush()).toBe(false);
    await waymark.flush();
    expect(losses).toHaveLength(2);
    for (const loss of losses) expect(loss).toMatchObject({ traces: 0, spans: 1, cause: { status: 400 } });
    const stored = await read(await trace.id);
    expect(stored.spans).toHaveLength(22);
    expect(treeOf(stored)).toMatchObject({ parent: { "child of wrong": {} }, 0: {}, 19: {} });
    expect([await wrong.id, await named.id, await parent.id]).toEqual([undefined, undefined, expect.any(String)]);
    expect(waymark.stats()).toMatchObject({ queued: 0, queuedBytes: 0, lost: { spans: 2 } });
  });

  it("with a body that is too large for the service is mended by halves, and a span that is too large alone is lost", async () => {
    const { waymark, losses } = connect();
    const trace = waymark.startTrace(options);
    const text = "x".repeat(bodyLimitBytes / 4);
    for (let n = 0; n < 10; n++) trace.span(`${n}`, { input: text }).end();
    trace.span("huge", { input: text.repeat(5) }).end();
    await trace.end("success");
    expect(await waymark.flush()).toBe(false);
    await waymark.flush();
    expect(losses).toMatchObject([{ spans: 1, cause: { status: 413 } }]);
    expect((await read(await trace.id)).spans.map(({ name }) => name)).toEqual([..."0123456789"]);
  });

  it("for a while is overcome", async () => {
    const faults: Fate[] = ["drop-answer", { status: 503, headers: { "Retry-After": "0" } }, { status: 502 }];
    const proxy = await faulty((count) => (count % 2 === 0 ? (faults[(count / 2) % 3] ?? "pass") : "pass"));
    const { waymark, losses } = connect({ url: proxy.url, retry: { retries: 20, maxMs: 20 } });
    const traces = Array.from({ length: 20 }, () => waymark.startTrace(options));
    for (const trace of traces) await trace.run("a", (a) => a.run("b", () => 1));
    for (const trace of traces) await trace.end("success");
    expect(await waymark.flush()).toBe(true);
    expect(losses).toEqual([]);
    for (const trace of traces) expect(treeOf(await read(await trace.id))).toEqual({ a: { b: {} } });
  });

  it("for good is reported once, and the program goes on", async () => {
    const { waymark, losses } = connect({ url: "http://127.0.0.1:9", timeoutMs: 200 });
    const trace = waymark.startTrace(options);
    expect(await trace.run("a", (a) => a.run("b", () => "result"))).toBe("result");
    await trace.end("success");
    expect(await waymark.flush()).toBe(false);
    expect(await trace.id).toBeUndefined();
    await waymark.flush();
    expect(losses).toMatchObject([{ name: "WaymarkLossError", traces: 1, spans: 2 }]);
    expect(losses[0]?.message).toMatch(/^1 traces and 2 spans could not be recorded \("A run"\): POST http/);
    expect(waymark.stats()).toEqual({
      queued: 0,
      queuedBytes: 0,
      sent: { traces: 0, spans: 0 },
      lost: { traces: 1, spans: 2 },
    });
  });

  it("in onError itself is ignored", async () => {
    const { waymark } = connect({
      key: "wmk_trace_x",
      onError: () => {
        throw new Error("the callback's own");
      },
    });
    await waymark.startTrace(options).end("success");
    expect(await waymark.flush()).toBe(false);
    await waymark.flush();
  });

  it("with the plan's limit loses the trace at once", async () => {
    const free = await test.makeAccount("free");
    const { waymark, losses } = connect({ key: free.key });
    await waymark.startTrace(options).end("success");
    expect(await waymark.flush()).toBe(true);
    const other = waymark.startTrace({ ...options, agent_id: "another" });
    await other.end("success");
    expect(await waymark.flush()).toBe(false);
    await waymark.flush();
    expect(losses).toMatchObject([
      { traces: 1, cause: { status: 403, error: "Free plan limited to 1 agent", attempts: 1 } },
    ]);
  });
});

describe("a full queue", () => {
  it("drops new spans, reports their number, and takes further ones when there is capacity", async () => {
    const { waymark, losses } = connect({ maxQueued: 10 });
    const trace = waymark.startTrace(options);
    for (let n = 0; n < 30; n++) await trace.run(`${n}`, () => n);
    await waymark.flush();
    await trace.run("later", () => 1);
    await trace.end("success");
    expect(await waymark.flush()).toBe(true);
    expect(losses).toMatchObject([{ traces: 0, spans: 21, message: expect.stringContaining("the queue is full") }]);
    const names = (await read(await trace.id)).spans.map(({ name }) => name);
    expect(names).toEqual([..."012345678", "later"]);
  });

  it("is one of bytes too", async () => {
    const { waymark } = connect({ maxQueuedBytes: 20_000 });
    const trace = waymark.startTrace(options);
    for (let n = 0; n < 10; n++) trace.span(`${n}`, { input: "x".repeat(6_000) }).end();
    await trace.end("success");
    await waymark.flush();
    expect(waymark.stats()).toMatchObject({ sent: { spans: 4 }, lost: { spans: 6 }, queuedBytes: 0 });
  });

  it("lets traces wait where asked to, and loses none", async () => {
    const { waymark, losses } = connect({ maxQueued: 10, whenFull: "wait", flushIntervalMs: 5 });
    const trace = waymark.startTrace(options);
    let most = 0;
    const work = Array.from({ length: 200 }, (_, n) =>
      trace.run(`${n}`, () => {
        most = Math.max(most, waymark.stats().queued);
      }),
    );
    await Promise.all(work);
    await trace.end("success");
    expect(await waymark.flush()).toBe(true);
    expect(losses).toEqual([]);
    expect(most).toBeLessThanOrEqual(10);
    expect((await read(await trace.id)).spans).toHaveLength(200);
  });
});

describe("the end", () => {
  it("comes within its time, and reports the losses", async () => {
    const { waymark, losses } = connect({ url: "http://127.0.0.1:9", shutdownTimeoutMs: 100 });
    waymark.startTrace(options).span("a");
    await waymark.shutdown();
    expect(losses).toMatchObject([{ traces: 1, spans: 1 }]);
    expect(await waymark.startTrace(options).id).toBeUndefined();
  });

  const run = promisify(execFile);
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const runCode = (code: string) =>
    run(process.execPath, ["--input-type=module", "--eval", code], {
      cwd,
      env: { WAYMARK_TRACE_KEY: account.key, WAYMARK_TRACE_URL: url },
      timeout: 20_000,
    }).catch((error) => error);
  const made = `import { createWaymark } from "@waymark/client";
    const { WAYMARK_TRACE_KEY: key, WAYMARK_TRACE_URL: url } = process.env;`;
  const namesOf = async (name: string) => {
    const { traces } = await connect().waymark.api.listTraces({ name });
    return Promise.all(traces.map(async ({ id }) => treeOf(await read(id))));
  };

  const goesOn = {
    "awaits the trace's end": 'await trace.end("success"); console.log(false); console.log("went on");',
    "awaits the trace's id": 'console.log(await trace.id !== undefined); console.log("went on");',
    "awaits nothing": 'console.log(false); console.log("went on");',
  };
  it.each(Object.entries(goesOn))(
    "of a process that %s comes while the service is down, and reports the losses",
    async (_, last) => {
      const silent = createServer(() => undefined).listen(0, "127.0.0.1");
      await once(silent, "listening");
      for (const port of [9, portOf(silent)]) {
        const { stdout, stderr } = await runCode(`${made}
        const waymark = createWaymark({ key, url: "http://127.0.0.1:${port}", shutdownTimeoutMs: 300, attemptTimeoutMs: 500 });
        const trace = waymark.startTrace({ agent_id: "agent", name: "Down" });
        await trace.run("step", () => 1);
        ${last}`);
        expect(stdout).toBe("false\nwent on\n");
        expect(stderr).toMatch(
          /1 traces and 1 spans could not be recorded.* \("Down"\): it was not sent within 300 ms/,
        );
      }
      silent.closeAllConnections();
      silent.close();
    },
  );

  it("of a process that has nothing left to do sends what waits", async () => {
    const { stderr } = await runCode(`${made}
      const waymark = createWaymark({ key, url, flushIntervalMs: 60_000 });
      void waymark.startTrace({ agent_id: "agent", name: "At exit" }).run("step", () => 1);`);
    expect(stderr).toBe("");
    expect(await namesOf("At exit")).toEqual([{ step: {} }]);
  });

  it("by a signal sends what waits where asked to, and is still an end by that signal", async () => {
    const ended = await runCode(`${made}
      const waymark = createWaymark({ key, url, flushIntervalMs: 60_000, flushOnSignals: true });
      waymark.startTrace({ agent_id: "agent", name: "At signal" }).span("step");
      setInterval(() => {}, 1_000);
      process.kill(process.pid, "SIGTERM");`);
    expect(ended).toMatchObject({ signal: "SIGTERM", stderr: "" });
    expect(await namesOf("At signal")).toEqual([{ step: {} }]);
  });

  it("is that which the README's example shows", async () => {
    const readme = readFileSync(new URL("../../../../packages/client/README.md", import.meta.url), "utf8");
    const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
    const { stdout, stderr } = await runCode(example);
    expect(stderr).toBe("");
    const [, id] = /^Refunded: Refund order 1042, which is paid\. ([0-9a-f-]{36})\n$/.exec(stdout) ?? [];
    const stored = await read(id);
    expect(stored).toMatchObject({ agent_id: "billing-agent", status: "success", metadata: { model: "gpt-4o" } });
    expect(treeOf(stored)).toEqual({ refund: { get_order: {}, model: {} } });
    expect(spanOf(stored, "get_order")).toMatchObject({ input: { order: 1042 }, output: { id: 1042, state: "paid" } });
  });
});
