import { describe, expect, it } from "@jest/globals";
import { createWaymark, type WaymarkLossError, type WaymarkOptions } from "./index.js";

interface Asked {
  method: string;
  path: string;
  body: { spans?: unknown[] };
}

/** An SDK on a simulated service, with the requests it sent and the losses it reported. */
function connect(answer: (asked: Asked, count: number) => Response | undefined, options: WaymarkOptions = {}) {
  const asked: Asked[] = [];
  const losses: WaymarkLossError[] = [];
  const play: typeof fetch = async (input, init) => {
    const now = {
      method: String(init?.method),
      path: new URL(String(input)).pathname,
      body: JSON.parse(String(init?.body)),
    };
    const given = answer(now, asked.push(now));
    if (given) return given;
    if (now.method === "PATCH") return Response.json({ ok: true });
    if (!now.body.spans) return Response.json({ trace_id: "t" }, { status: 201 });
    return Response.json({ span_ids: now.body.spans.map((_: unknown, index: number) => `${index}`) }, { status: 201 });
  };
  const warnings: string[] = [];
  const onError = (error: WaymarkLossError) => void losses.push(error);
  const onWarning = (message: string) => void warnings.push(message);
  const waymark = createWaymark({
    key: "wmk_trace_x",
    fetch: play,
    onError,
    onWarning,
    retry: { baseMs: 1 },
    flushOnExit: false,
    ...options,
  });
  return { waymark, asked, losses, warnings };
}

const refuse = (status: number, body: object) => Response.json(body, { status, headers: { "Retry-After": "0" } });
const started = { agent_id: "a", name: "n" };

describe("a trace that is full", () => {
  it("loses what is sent beyond, without asking for each span", async () => {
    const isFull = refuse(413, { error: "Trace has too many spans", limit: 100_000 });
    let batches = 0;
    const { waymark, asked, losses } = connect(
      ({ body }) => (body.spans && ++batches > 1 ? isFull.clone() : undefined),
      {
        maxBatchSpans: 100,
      },
    );
    const trace = waymark.startTrace(started);
    for (let n = 0; n < 1_000; n++) trace.span(`${n}`).end();
    await trace.end("success");
    expect(await waymark.flush()).toBe(false);
    expect(asked.filter(({ body }) => body.spans)).toHaveLength(2);
    expect(asked.at(-1)).toMatchObject({ method: "PATCH", body: { status: "success" } });
    expect(losses).toMatchObject([{ traces: 0, spans: 900, cause: { status: 413 }, names: ["n"] }]);
    expect(waymark.stats()).toMatchObject({ queued: 0, queuedBytes: 0, sent: { spans: 100 }, lost: { spans: 900 } });
  });
});

describe("a service that is busy", () => {
  it("is asked again, whether the account's share or all of it is used up", async () => {
    const share = { error: "Too much in progress for this account", reason: "64 requests wait" };
    const busy = [refuse(429, share), refuse(503, { error: "Service temporarily unavailable", reason: "full" })];
    const { waymark, asked, losses } = connect((_, count) =>
      count % 3 === 0 ? undefined : busy[count % 3 === 1 ? 0 : 1]?.clone(),
    );
    const trace = waymark.startTrace(started);
    trace.span("a step").end();
    void trace.end("success");
    expect(await waymark.flush()).toBe(true);
    expect(asked).toHaveLength(9);
    expect(losses).toEqual([]);
  });
});

describe("a service that takes nothing", () => {
  it("is told once with address and cause, and once when it takes records again", async () => {
    let isDown = true;
    const { waymark, losses, warnings } = connect(() => {
      if (isDown) throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:4100") });
      return undefined;
    });
    for (let n = 0; n < 5; n++) waymark.startTrace(started).span("a step").end();
    expect(await waymark.flush(200)).toBe(false);
    isDown = false;
    expect(await waymark.flush()).toBe(true);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Waymark: no records arrive; they wait: POST http:\/\/127.0.0.1:4100\/api.*: connect ECONNREFUSED 127.0.0.1:4100$/,
      ),
      "Waymark: records arrive again at http://127.0.0.1:4100",
    ]);
    expect(losses).toEqual([]);
    expect(waymark.stats()).toMatchObject({ queued: 0, queuedBytes: 0, sent: { traces: 5, spans: 5 } });
  });

  it("costs bounded memory, and losses are told with the names of their traces", async () => {
    const { waymark, losses } = connect(() => {
      throw new TypeError("fetch failed");
    });
    const trace = waymark.startTrace({ agent_id: "a", name: "Long run" });
    for (let n = 0; n < 100_000; n++) trace.span(`${n}`, { input: { n } }).end({ output: "x".repeat(100) });
    const { queued, queuedBytes, lost } = waymark.stats();
    expect(queued).toBe(10_000);
    expect(queuedBytes).toBeLessThan(32 * 1_048_576);
    expect(lost).toEqual({ traces: 0, spans: 90_001 });
    await waymark.shutdown();
    expect(losses[0]).toMatchObject({ spans: 90_001, names: ["Long run"] });
    expect(losses[0]?.message).toMatch(/at http:\/\/127.0.0.1:4100 \("Long run"\): the queue is full$/);
    expect(waymark.stats()).toMatchObject({ queued: 0, queuedBytes: 0, lost: { traces: 1, spans: 100_000 } });
  }, 60_000);

  it("keeps nobody waiting for the end of a trace", async () => {
    const { waymark } = connect(() => new Promise<Response>(() => undefined) as unknown as Response);
    const trace = waymark.startTrace(started);
    trace.span("a step").end();
    await trace.end("success");
    expect(await waymark.trace(started, () => 7)).toBe(7);
    expect(waymark.stats()).toMatchObject({ sent: { traces: 0 }, lost: { traces: 0 } });
    expect(await waymark.flush(20)).toBe(false);
  });
});

describe("requests that their runtime drops without a word", () => {
  it("give their places back by time, and go again with their keys", async () => {
    const keys: string[] = [];
    let dropped = 0;
    const { waymark, losses } = connect(() => undefined, {
      attemptTimeoutMs: 100,
      maxConcurrentRequests: 2,
      fetch: async (_, init) => {
        keys.push(new Headers(init?.headers).get("Idempotency-Key") ?? "");
        // Neither an answer nor an abort, as on Cloudflare Workers after the answer to the visitor.
        if (dropped++ < 2) return new Promise<Response>(() => undefined);
        const { spans } = JSON.parse(String(init?.body));
        return Response.json({ trace_id: "t", ok: true, span_ids: spans?.map(() => "s") });
      },
    });
    for (let n = 0; n < 6; n++) await waymark.trace({ agent_id: "a", name: `${n}` }, () => n);
    expect(await waymark.flush()).toBe(true);
    expect(losses).toEqual([]);
    expect(waymark.stats()).toMatchObject({ queued: 0, sent: { traces: 6, spans: 6 } });
    expect(keys.slice(0, 2).every((key) => keys.lastIndexOf(key) >= 2)).toBe(true);
  });
});

describe("the end of a trace", () => {
  it("counts once, and an unknown status is told and taken as an error", async () => {
    const { waymark, asked, warnings } = connect(() => undefined);
    const trace = waymark.startTrace(started);
    await trace.end("done" as "success");
    await trace.end("success");
    await waymark.flush();
    expect(asked.at(-1)?.body).toMatchObject({ status: "error" });
    expect(asked.filter(({ method }) => method === "PATCH")).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining('not "done"')]);
  });
});
