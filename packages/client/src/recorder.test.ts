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
  const onError = (error: WaymarkLossError) => void losses.push(error);
  const waymark = createWaymark({ fetch: play, onError, retry: { baseMs: 1 }, flushOnExit: false, ...options });
  return { waymark, asked, losses };
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
    expect(await trace.end("success")).toBe(false);
    expect(asked.filter(({ body }) => body.spans)).toHaveLength(2);
    expect(asked.at(-1)).toMatchObject({ method: "PATCH", body: { status: "success" } });
    expect(losses).toMatchObject([{ traces: 0, spans: 900, cause: { status: 413 } }]);
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
    expect(await trace.end("success")).toBe(true);
    expect(asked).toHaveLength(9);
    expect(losses).toEqual([]);
  });
});

describe("the end of a trace", () => {
  it("gives up after endTimeoutMs, tells what is lost, and leaves other traces alone", async () => {
    let isDown = true;
    const { waymark, losses } = connect(() => (isDown ? refuse(503, { error: "down" }) : undefined), {
      endTimeoutMs: 50,
      retry: { baseMs: 5, retries: 10_000, maxMs: 5 },
    });
    const other = waymark.startTrace(started);
    const trace = waymark.startTrace(started);
    trace.span("a step").end();
    expect(await trace.end("success")).toBe(false);
    expect(losses).toMatchObject([
      { traces: 1, spans: 1, message: expect.stringMatching(/it was not stored within 50 ms of the trace's end$/) },
    ]);
    isDown = false;
    expect(await other.end("success")).toBe(true);
    expect(losses).toHaveLength(1);
  });

  it("of a recorded function is not given up: nobody waits for it", async () => {
    let isDown = true;
    const { waymark, losses } = connect(() => (isDown ? refuse(503, { error: "down" }) : undefined), {
      endTimeoutMs: 1,
      retry: { baseMs: 5, retries: 10_000, maxMs: 5 },
    });
    expect(await waymark.trace(started, () => 7)).toBe(7);
    await new Promise((resolve) => setTimeout(resolve, 50));
    isDown = false;
    await waymark.flush();
    expect(losses).toEqual([]);
    expect(waymark.stats()).toMatchObject({ queued: 0, sent: { traces: 1, spans: 1 } });
  });
});
