import { describe, expect, it } from "@jest/globals";
import { type TestAccount, useApp } from "../app.fixture.js";
import { keyValues, readTraces, sendJson } from "./otlp.fixture.js";

const trace = "0af7651916cd43dd8448eb211c80319c";
const idOf = (n: number) => n.toString(16).padStart(16, "0");
const startNanos = 1_780_315_200_000_000_000n;

/** A process's export: a span, which a remote one called, and one within it. */
function exportOf(service: string, n: number, { parent, isError }: { parent?: number; isError: boolean }) {
  const times = (start: number, end: number) => ({
    startTimeUnixNano: String(startNanos + BigInt(start) * 1_000_000n),
    endTimeUnixNano: String(startNanos + BigInt(end) * 1_000_000n),
  });
  const entry = {
    traceId: trace,
    spanId: idOf(n),
    name: `${service} request`,
    ...times(n, 100 - n),
    ...(parent !== undefined && { parentSpanId: idOf(parent), flags: 0x301 }),
    status: { code: isError ? 2 : 0 },
    attributes: service === "agent" ? keyValues({ "gen_ai.agent.name": "planner" }) : [],
  };
  const call = {
    traceId: trace,
    spanId: idOf(n + 1),
    parentSpanId: idOf(n),
    flags: 0x101,
    name: "call",
    ...times(n, 50),
  };
  const resource = { attributes: keyValues({ "service.name": service }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: [call, entry] }] }] };
}

const browser = (isError: boolean) => exportOf("browser", 10, { isError });
const gateway = (isError: boolean) => exportOf("gateway", 20, { parent: 11, isError });
const agent = (isError: boolean) => exportOf("agent", 30, { parent: 21, isError });

/** All orders of three. */
const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const;

describe("a trace of several processes", () => {
  const test = useApp();
  const readTrace = async (account: TestAccount) => {
    const traces = [...(await readTraces(account, (text, values) => test.pool.query(text, values))).values()];
    expect(traces).toHaveLength(1);
    return traces[0];
  };
  const alertsOf = async ({ id }: TestAccount) =>
    (await test.pool.query("SELECT status FROM alert WHERE account_id = $1", [id])).rows;

  it.each(orders)("is one run with one alert, whichever process exports first: %i, %i, %i", async (...order) => {
    const account = await test.makeAccount("pro");
    const exports = [browser(true), gateway(true), agent(true)];
    for (const n of order) await sendJson(account, exports[n] ?? {}).expect(200);
    for (const n of order) await sendJson(account, exports[n] ?? {}).expect(200);
    const { name, status, started_at, ended_at, spans } = (await readTrace(account)) ?? {};
    expect({ name, status, started_at, ended_at, spans: spans?.length }).toEqual({
      name: "browser request",
      status: "error",
      started_at: "2026-06-01T12:00:00.010Z",
      ended_at: "2026-06-01T12:00:00.090Z",
      spans: 6,
    });
    expect(await alertsOf(account)).toEqual([{ status: "error" }]);
  });

  it.each(orders)("has its root span's status, and one alert of a local root: %i, %i, %i", async (...order) => {
    const account = await test.makeAccount("pro");
    const exports = [browser(false), gateway(false), agent(true)];
    for (const n of order) await sendJson(account, exports[n] ?? {}).expect(200);
    expect(await readTrace(account)).toMatchObject({ name: "browser request", status: "success" });
    expect(await alertsOf(account)).toEqual([{ status: "error" }]);
  });

  it("ends by its local root, whose agent it has and lists, until the root span comes", async () => {
    const account = await test.makeAccount("pro");
    await sendJson(account, agent(false)).expect(200);
    expect(await readTrace(account)).toMatchObject({
      agent_id: "planner",
      name: "agent request",
      status: "success",
      ended_at: "2026-06-01T12:00:00.070Z",
      metadata: { otel_trace_id: trace, resource: { "service.name": "agent" } },
    });
    expect((await account.get("/api/v1/agents?from=2026-06-01T00:00:00Z").expect(200)).body.agents).toMatchObject([
      { id: "planner" },
    ]);
    await sendJson(account, gateway(true)).expect(200);
    expect(await readTrace(account)).toMatchObject({ name: "gateway request", status: "error" });
    await sendJson(account, browser(false)).expect(200);
    expect(await readTrace(account)).toMatchObject({ name: "browser request", status: "success" });
    expect(await alertsOf(account)).toEqual([{ status: "error" }]);
  });

  it("keeps the status that a PATCH gave from repeats, and sends no second alert", async () => {
    const account = await test.makeAccount("pro");
    await sendJson(account, agent(true)).expect(200);
    const { id = "" } = (await readTrace(account)) ?? {};
    await account.patch(`/api/v1/traces/${id}`, { status: "success" }).expect(200);
    await sendJson(account, agent(true)).expect(200);
    expect(await readTrace(account)).toMatchObject({ status: "success" });
    await sendJson(account, browser(true)).expect(200);
    expect(await readTrace(account)).toMatchObject({ status: "error" });
    expect(await alertsOf(account)).toHaveLength(1);
  });

  it("claims no agent before the root span on Free: its own, or the one that a span told", async () => {
    const account = await test.makeAccount("free");
    for (const part of [agent(false), gateway(false), browser(false)]) await sendJson(account, part).expect(200);
    expect(await readTrace(account)).toMatchObject({ agent_id: "planner", status: "success" });
    expect(await alertsOf(account)).toEqual([]);
  });

  it.each([0, 0x101, 0x201, 0x100])("is running while its spans' parents are missing, with flags %i", async (flags) => {
    const account = await test.makeAccount("pro");
    const [{ resource, scopeSpans }] = agent(true).resourceSpans as [ReturnType<typeof exportOf>["resourceSpans"][0]];
    const spans = scopeSpans.map(({ spans: own }) => ({ spans: own.map((span) => ({ ...span, flags })) }));
    await sendJson(account, { resourceSpans: [{ resource, scopeSpans: spans }] }).expect(200);
    expect(await readTrace(account)).toMatchObject({ status: "running", ended_at: null });
    expect(await alertsOf(account)).toEqual([]);
  });
});
