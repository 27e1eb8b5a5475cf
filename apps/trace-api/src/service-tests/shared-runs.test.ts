import { execFile } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createWaymark, currentSpan, type Trace } from "@waymark/client";
import { describeWithProgram, randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { runClient } from "../otlp/clients.fixture.js";

const test = useApp();
let server: Server;
let url: string;
let account: TestAccount;

beforeAll(async () => {
  server = test.app.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  account = await test.makeAccount("pro");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A client whose records go out when `flush` is called. */
const connect = (options = {}) =>
  createWaymark({
    key: account.key,
    url,
    traceContext: true,
    flushIntervalMs: 600_000,
    flushOnExit: false,
    ...options,
  });

const read = async (id: string | undefined): Promise<Trace> => (await account.get(`/api/v1/traces/${id}`)).body;

/** The tree of a trace: names, with those below them. */
function treeOf({ spans }: Trace): unknown {
  const below = (id: string | null): unknown =>
    Object.fromEntries(spans.filter((span) => span.parent_span_id === id).map((span) => [span.name, below(span.id)]));
  return below(null);
}

/** What a sender of OpenTelemetry stores below a header. */
function exportBelow(header = "") {
  const [, traceId, parentSpanId] = header.split("-");
  const startTimeUnixNano = `${Date.now()}000000`;
  const span = { traceId, spanId: "00f067aa0ba902b7", parentSpanId, name: "charge", kind: 2, flags: 0x301 };
  const spans = [{ ...span, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano }];
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "bank" } }] };
  return account.post("/v1/traces", { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] });
}

/** A run over three services. The functions send what each of them has recorded. */
async function runOver(fails: { shop: boolean; stock: boolean }) {
  const [shop, stock] = [connect(), connect({ traceContext: false })];
  let header: string | undefined;
  let id: string | undefined;
  const run = shop.trace(
    { agent_id: "shop", name: "Order 7", sessionId: "chat-7", input: { order: 7 }, metadata: { shop: 1 } },
    (span, trace) =>
      span.run("call stock", async (call) => {
        id = await trace.id;
        header = call.traceparent;
        const part = { agent_id: "stock", name: "Reserve", traceparent: header };
        const work = stock.trace(part, async (own) => {
          await own.run("look up", () => [7, 8.5, null], { kind: "retrieval", input: "7" });
          if (fails.stock) throw new TypeError("sold out");
        });
        await work.catch(() => undefined);
        if (fails.shop) throw new Error("no card");
      }),
  );
  await run.catch(() => undefined);
  const send = [() => shop.flush(), () => stock.flush(), () => exportBelow(header)];
  return { id, send };
}

describe("a run over several services", () => {
  it("is one, in whatever order they arrive and repeat", async () => {
    const outcome = fc.record({ shop: fc.boolean(), stock: fc.boolean() });
    const order = fc.shuffledSubarray([0, 1, 2], { minLength: 3 });
    await fc.assert(
      fc.asyncProperty(outcome, order, fc.boolean(), async (fails, sequence, isAtOnce) => {
        const { id, send } = await runOver(fails);
        const start = (n: number) => send[n]?.();
        if (isAtOnce) await Promise.all(sequence.map(start));
        else for (const n of sequence) await start(n);
        await start(2);
        const trace = await read(id);
        expect(trace).toMatchObject({ agent_id: "shop", name: "Order 7", status: fails.shop ? "error" : "success" });
        expect(treeOf(trace)).toEqual({ "Order 7": { "call stock": { Reserve: { "look up": {} }, charge: {} } } });
        const spanOf = (name: string) => trace.spans.find((span) => span.name === name);
        expect(spanOf("Order 7")).toMatchObject({ input: { order: 7 }, error: fails.shop ? "Error: no card" : null });
        expect(spanOf("look up")).toMatchObject({ input: "7", output: [7, 8.5, null] });
        expect(spanOf("Reserve")?.error).toBe(fails.stock ? "TypeError: sold out" : null);
        const [listed] = (await account.get("/api/v1/traces?session_id=chat-7&limit=1")).body.traces;
        expect(listed.id).toBe(trace.id);
      }),
      randomRuns(8),
    );
  });

  it("is ended by a part whose sender is unknown here, and has no part of a wrong header", async () => {
    const stock = connect({ onWarning: () => undefined });
    const part = stock.startTrace({
      agent_id: "stock",
      name: "Reserve",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    part.span("look up").end();
    part.end("timeout");
    const apart = stock.startTrace({ agent_id: "stock", name: "Apart", traceparent: "00-0-0-00" });
    apart.end();
    expect(await stock.flush()).toBe(true);
    expect(await part.id).toBe("4bf92f3577b34da6a3ce929d0e0e4736");
    expect(await read(await part.id)).toMatchObject({ agent_id: "stock", name: "Reserve", status: "error" });
    expect(await read(await apart.id)).toMatchObject({ name: "Apart", status: "success", spans: [{ name: "Apart" }] });
    expect(stock.stats()).toMatchObject({ sent: { traces: 2, spans: 3 }, lost: { traces: 0, spans: 0 } });
  });

  it("needs the option: without it there is no header", async () => {
    const warnings: string[] = [];
    const plain = connect({ traceContext: false, onWarning: (message: string) => void warnings.push(message) });
    await plain.trace({ agent_id: "a", name: "b" }, () => expect(currentSpan()?.traceparent).toBeUndefined());
    expect(warnings).toEqual([expect.stringContaining("`traceContext`")]);
    await plain.shutdown();
  });

  it("has the spans of OpenTelemetry in the same process above and below it", async () => {
    const program = ["shared-run.mjs", url, account.key];
    expect(await runClient({ program, endpoint: url, key: account.key, modelUrl: url })).toBe("");
    const { traces } = (await account.get("/api/v1/traces?agent_id=otel-service")).body;
    const trace = await read(traces[0].id);
    expect(treeOf(trace)).toEqual({ handle: { "A run": { "http call": {}, step: { "database call": {} } } } });
  });
});

const script = `
import sys, waymark
client = waymark.Waymark(sys.argv[1], sys.argv[2], trace_context=len(sys.argv) == 3)
header = sys.argv[3] if len(sys.argv) > 3 else None

@client.observe
def look_up(order):
    return {"order": order, "left": 2.5}

with client.start_trace("stock", "Reserve", traceparent=header, metadata={"shelf": 3}) as trace:
    with trace.span("step") as span:
        look_up(7)
        print(span.traceparent)
assert client.flush(), client.stats()
`;

describeWithProgram("python3", "the Python SDK", (python) => {
  const env = () => ({
    PYTHONPATH: fileURLToPath(new URL("../../../../packages/client-python/", import.meta.url)),
    PYTHONDONTWRITEBYTECODE: "1",
  });
  const runPython = async (...given: string[]) =>
    (await promisify(execFile)(python, ["-c", script, account.key, url, ...given], { env: env() })).stdout.trim();

  it("joins a run of another service, and others join its", async () => {
    const shop = connect();
    let id: string | undefined;
    await shop.trace({ agent_id: "shop", name: "Order 8" }, async (span, trace) => {
      id = await trace.id;
      await runPython(span.traceparent ?? "");
    });
    await shop.flush();
    const joined = await read(id);
    expect(joined).toMatchObject({ agent_id: "shop", name: "Order 8" });
    expect(treeOf(joined)).toEqual({ "Order 8": { Reserve: { step: { look_up: {} } } } });
    expect(joined.spans.find(({ name }) => name === "look_up")).toMatchObject({ output: { order: 7, left: 2.5 } });

    const header = await runPython();
    const part = shop.startTrace({ agent_id: "shop", name: "Pay", traceparent: header });
    part.end();
    await shop.flush();
    const own = await read(header.split("-")[1]);
    expect(own).toMatchObject({ agent_id: "stock", name: "Reserve", status: "success" });
    expect(treeOf(own)).toEqual({ Reserve: { step: { look_up: {}, Pay: {} } } });
  }, 60_000);
});
