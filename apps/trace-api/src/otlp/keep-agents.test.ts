import { describe, expect, it } from "@jest/globals";
import { changeKeep } from "@waymark/accounts";
import { amount } from "@waymark/testing";
import { type TestAccount, useApp } from "../app.fixture.js";
import { useDropNoise } from "./drop-noise.fixture.js";
import { keyValues, readTraces, sendJson } from "./otlp.fixture.js";

const startNanos = 1_780_315_200_000_000_000n;

interface TestSpan {
  trace: number;
  id: number;
  parent?: number;
  attributes?: Record<string, unknown>;
  name?: string;
}

function spanOf({ trace, id, parent, attributes = {}, name = `span ${id}` }: TestSpan) {
  return {
    traceId: trace.toString(16).padStart(32, "0"),
    spanId: id.toString(16).padStart(16, "0"),
    ...(parent !== undefined && { parentSpanId: parent.toString(16).padStart(16, "0") }),
    name,
    startTimeUnixNano: String(startNanos + BigInt(id) * 1_000_000n),
    endTimeUnixNano: String(startNanos + 1_000_000_000n),
    attributes: keyValues(attributes),
  };
}

const resource = { attributes: keyValues({ "service.name": "shop", "service.version": "1.2" }) };
const requestOf = (spans: readonly TestSpan[]) => ({
  resourceSpans: [{ resource, scopeSpans: [{ spans: spans.map(spanOf) }] }],
});

const model = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m" };
/** A run of an agent: its HTTP call, its model call and its root. */
const runOf = (trace: number): [TestSpan, TestSpan, TestSpan] => [
  { trace, id: 3, parent: 2, name: "POST" },
  { trace, id: 2, parent: 1, attributes: model, name: "chat" },
  { trace, id: 1, name: "GET /answer" },
];

describe("an account that keeps traces of agents", () => {
  const test = useApp();
  async function makeAccount(plan: "free" | "pro" = "pro", keep: "all" | "agents" = "agents") {
    const account = await test.makeAccount(plan);
    await changeKeep(test.pool, account.id, keep);
    return account;
  }
  /** Changes what is kept, and answers with an instance that knew nothing of the account before. */
  async function keepFrom(account: TestAccount, keep: "all" | "agents") {
    await changeKeep(test.pool, account.id, keep);
    return (await test.startInstance())(account);
  }
  const usageOf = async (account: TestAccount) => (await account.get("/api/v1/usage").expect(200)).body;
  const read = async (account: TestAccount) => [
    ...(await readTraces(account, (text, values) => test.pool.query(text, values))).values(),
  ];
  const drop = useDropNoise(test);
  const pendingOf = async ({ id }: TestAccount) =>
    (await test.pool.query("SELECT FROM pending_span WHERE account_id = $1", [id])).rowCount;

  it.each([
    [0, 1, 2],
    [2, 1, 0],
    [0, 2, 1],
    [1, 0, 2],
  ])("has a run whole, counted once, in pieces in the order %i, %i, %i", async (...order) => {
    const account = await makeAccount();
    const spans = runOf(1);
    for (const n of [...order, ...order]) await sendJson(account, requestOf([spans[n] as TestSpan])).expect(200);
    const [trace, ...more] = await read(account);
    expect(more).toEqual([]);
    expect(trace).toMatchObject({ name: "GET /answer", status: "success" });
    expect(trace?.spans.map(({ name }) => name).sort()).toEqual(["GET /answer", "POST", "chat"]);
    expect((await usageOf(account)).traces.current).toBe(1);
    expect(await pendingOf(account)).toBe(0);
    await drop();
    expect((await usageOf(account)).dropped).toMatchObject({ traces: 0 });
  });

  it("neither shows nor counts a trace without an agent, and drops it once its root has ended", async () => {
    const account = await makeAccount();
    const web = [
      { trace: 7, id: 1, name: "GET /" },
      { trace: 7, id: 2, parent: 1 },
    ];
    for (const span of web) await sendJson(account, requestOf([span])).expect(200);
    await sendJson(account, requestOf([{ trace: 8, id: 2, parent: 1 }])).expect(200);
    expect(await read(account)).toEqual([]);
    expect((await usageOf(account)).traces.current).toBe(0);
    await drop();
    await drop();
    const { dropped, bytes } = await usageOf(account);
    expect(dropped).toEqual({ traces: 1, since: `${new Date().toISOString().slice(0, 7)}-01T00:00:00.000Z` });
    expect(bytes.current).toBeGreaterThan(0);
    expect(await pendingOf(account)).toBe(1);
  });

  it("keeps what came with a label of its own, as plain JSON, or before it chose so", async () => {
    const account = await makeAccount("pro", "all");
    await sendJson(account, requestOf([{ trace: 1, id: 1 }])).expect(200);
    const later = await keepFrom(account, "agents");
    await later.makeTrace();
    await sendJson(later, requestOf([{ trace: 1, id: 2, parent: 1 }])).expect(200);
    await sendJson(later, requestOf([{ trace: 2, id: 1, attributes: { "session.id": "s" } }])).expect(200);
    expect((await usageOf(account)).traces.current).toBe(3);
  });

  it("drops nothing of a trace that exists: its next span takes along what waits", async () => {
    const account = await makeAccount();
    await sendJson(account, requestOf([{ trace: 12, id: 1, parent: 2 }])).expect(200);
    await sendJson(await keepFrom(account, "all"), requestOf([{ trace: 12, id: 2 }])).expect(200);
    const later = await keepFrom(account, "agents");
    await drop();
    expect(await pendingOf(account)).toBe(1);
    await sendJson(later, requestOf([{ trace: 12, id: 3, parent: 2 }])).expect(200);
    expect((await read(account))[0]?.spans).toHaveLength(3);
    expect([await pendingOf(account), (await usageOf(account)).dropped.traces]).toEqual([0, 0]);
  });

  it("loses nothing of a trace that is made while another transaction drops its pending spans", async () => {
    const account = await makeAccount();
    const traces = Array.from({ length: 40 }, (_, n) => n + 100);
    await sendJson(account, requestOf(traces.map((trace) => ({ trace, id: 1, name: "GET /" })))).expect(200);
    const agents = traces.map((trace) =>
      sendJson(account, requestOf([{ trace, id: 2, parent: 1, attributes: model }])),
    );
    await Promise.all([...agents.map((sent) => sent.expect(200)), drop(), drop(), drop()]);
    await drop();
    const whole = (await read(account)).filter(({ spans }) => spans.length === 2).length;
    const usage = await usageOf(account);
    expect([usage.traces.current, whole + usage.dropped.traces]).toEqual([40, 40]);
    expect(await pendingOf(account)).toBe(0);
  });

  it("drops no spans of a trace that another transaction makes", async () => {
    const account = await makeAccount();
    await sendJson(account, requestOf([{ trace: 60, id: 1, name: "GET /" }])).expect(200);
    const maker = await test.hold(
      `WITH counted AS (UPDATE trace_usage SET traces = traces + 1 WHERE account_id = $1)
       INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id)
       VALUES ($1, gen_random_uuid(), 'a', 'run', 'running', now(), decode(lpad('3c', 32, '0'), 'hex'))`,
      [account.id],
    );
    const dropping = drop();
    await test.untilLockWaits();
    await maker.commit();
    expect(await dropping).toBe(0);
    expect([await pendingOf(account), (await usageOf(account)).dropped.traces]).toEqual([1, 0]);
  });

  it("refuses spans of a pending trace beyond 2,000, and tells how many", async () => {
    const account = await makeAccount();
    const many = (from: number, count: number) =>
      requestOf(Array.from({ length: count }, (_, n) => ({ trace: 9, id: from + n, parent: 1 })));
    await sendJson(account, many(10, 2_000)).expect(200);
    await sendJson(account, many(10_000, 1)).expect(413);
    await sendJson(account, requestOf(runOf(9))).expect(200);
    const [trace] = await read(account);
    expect(trace?.spans).toHaveLength(2_003);
  });

  /** Of the first, more than one look-up for what to drop takes. */
  const [noisy, run] = [amount(4_500, 31_000), amount(300, 1_000)];
  it.each([
    ["agents", run, noisy],
    ["all", run + noisy, 0],
  ] as const)(
    `with keep %s counts %i and drops %i of ${noisy} traces of noise and ${run} of an agent`,
    async (keep, kept, dropped) => {
      const account = await makeAccount("pro", keep);
      const noise = Array.from({ length: noisy }, (_, n) => ({ trace: n + 5_000, id: 1, name: `GET /${n % 7}` }));
      const runs = Array.from({ length: run }, (_, n) => runOf(n + 1));
      const pieces = [0, 1, 2].map((place) => runs.map((spans, n) => spans[(place + n) % 3] as TestSpan));
      const third = Math.ceil(noisy / 3);
      const all = pieces.flatMap((piece, n) => [...noise.slice(n * third, (n + 1) * third), ...piece]);
      const size = amount(1_000, 4_000);
      const requests = Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
        all.slice(n * size, (n + 1) * size),
      );
      for (let n = 0; n < requests.length; n += 2)
        await Promise.all(requests.slice(n, n + 2).map((spans) => sendJson(account, requestOf(spans)).expect(200)));
      await drop();
      const usage = await usageOf(account);
      expect([usage.traces.current, usage.dropped.traces]).toEqual([kept, dropped]);
      const { rows } = await test.pool.query(
        `SELECT count(*)::int FROM trace t WHERE account_id = $1 AND name = 'GET /answer' AND status = 'success'
         AND (SELECT count(*) FROM span s WHERE s.account_id = $1 AND s.trace_id = t.id) = 3`,
        [account.id],
      );
      expect(rows).toEqual([{ count: run }]);
      expect(await pendingOf(account)).toBe(0);
    },
  );
});
