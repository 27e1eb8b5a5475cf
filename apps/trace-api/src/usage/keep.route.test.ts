import { describe, expect, it } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { setKeep } from "@waymark/traces";
import request from "supertest";
import { type TestAccount, useApp } from "../app.fixture.js";
import { useDropNoise } from "../otlp/drop-noise.fixture.js";
import { keyValues, sendJson } from "../otlp/otlp.fixture.js";

const test = useApp();
const dropNoise = useDropNoise(test);
const drop = () => dropNoise(0);

interface TestSpan {
  trace: number;
  id: number;
  parent?: number;
  name?: string;
  kind?: number;
  attributes?: Record<string, unknown>;
  status?: { code: number };
}

function requestOf(scope: string, spans: readonly TestSpan[]) {
  const hex = (value: number, length: number) => value.toString(16).padStart(length, "0");
  return {
    resourceSpans: [
      {
        scopeSpans: [
          {
            scope: { name: scope },
            spans: spans.map(({ trace, id, parent, name = "span", attributes = {}, ...rest }) => ({
              traceId: hex(trace, 32),
              spanId: hex(id, 16),
              ...(parent !== undefined && { parentSpanId: hex(parent, 16) }),
              name,
              startTimeUnixNano: "1780315200000000000",
              endTimeUnixNano: "1780315201000000000",
              attributes: keyValues(attributes),
              ...rest,
            })),
          },
        ],
      },
    ],
  };
}

const change = (account: TestAccount, body: object) => account.patch("/api/v1/account", body);
/** Before the account's first request, which then finds it so. */
async function makeKeeping(kept: Parameters<typeof setKeep>[2]) {
  const account = await test.makeAccount("pro");
  await setKeep(test.pool, account.id, kept);
  return account;
}
const droppedOf = async (account: TestAccount) => (await account.get("/api/v1/usage/dropped").expect(200)).body;

describe("PATCH /api/v1/account", () => {
  it("changes what is given, and shows it on the usage", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const kept = async (of: TestAccount) => (await of.get("/api/v1/usage").expect(200)).body;
    expect(await kept(account)).toMatchObject({ keep: "all", leave_out: [] });
    await change(account, { keep: "agents" }).expect(200, { keep: "agents", leave_out: [] });
    await change(account, { leave_out: ["net", "fs", "net"] }).expect(200, {
      keep: "agents",
      leave_out: ["fs", "net"],
    });
    await change(account, {}).expect(200, { keep: "agents", leave_out: ["fs", "net"] });
    expect(await kept(account)).toMatchObject({ keep: "agents", leave_out: ["fs", "net"] });
    expect(await kept(other)).toMatchObject({ keep: "all", leave_out: [] });
  });

  it("reaches running services", async () => {
    const account = await makeKeeping({ keep: "agents" });
    const library = "@opentelemetry/instrumentation-fs";
    const sent = async (trace: number) => {
      await sendJson(account, requestOf("agents", [{ trace, id: 1, attributes: { "session.id": "s" } }])).expect(200);
      await sendJson(account, requestOf(library, [{ trace, id: 2, parent: 1 }])).expect(200);
      const sql =
        "SELECT max(n)::int AS most FROM (SELECT count(*) AS n FROM span WHERE account_id = $1 GROUP BY trace_id ORDER BY trace_id DESC LIMIT 1) AS last";
      return (await test.pool.query<{ most: number }>(sql, [account.id])).rows[0]?.most;
    };
    expect(await sent(1)).toBe(2);
    await change(account, { leave_out: ["fs"] }).expect(200);
    let trace = 2;
    while ((await sent(trace)) === 2 && trace < 1_000) trace++;
    expect(trace).toBeLessThan(1_000);
  });

  it("answers 400 for an unknown mode or instrumentation", async () => {
    const account = await test.makeAccount("pro");
    const { body } = await change(account, { keep: "some", leave_out: ["everything"] }).expect(400);
    expect(Object.keys(body.fields)).toEqual(["keep", "leave_out.0"]);
  });

  it("answers 403 for a key that reads or sends", async () => {
    const { id: accountId } = await test.makeAccount("pro");
    for (const scope of ["read", "ingest"] as const) {
      const { key } = await issueKey(test.pool, { accountId, service: "trace", scope, name: scope });
      await request(test.app)
        .patch("/api/v1/account")
        .set("Authorization", `Bearer ${key}`)
        .send({ keep: "all" })
        .expect(403);
    }
  });
});

describe("GET /api/v1/usage/dropped", () => {
  it("counts what was dropped by the name of its root, the rest without a name", async () => {
    const [account, other] = [await makeKeeping({ keep: "agents" }), await test.makeAccount("pro")];
    const spans = (name: string, from: number, count: number) =>
      Array.from({ length: count }, (_, n) => ({ trace: from + n, id: 1, name }));
    await sendJson(account, requestOf("web", [...spans("GET /", 1, 3), ...spans("HEAD /", 10, 2)])).expect(200);
    await sendJson(account, requestOf("web", [{ trace: 20, id: 2, parent: 1 }])).expect(200);
    await drop();
    await sendJson(account, requestOf("web", spans("GET /", 30, 1))).expect(200);
    await drop();
    expect(await droppedOf(account)).toEqual({
      month: new Date().toISOString().slice(0, 7),
      rows: [
        { name: "GET /", traces: 4 },
        { name: "HEAD /", traces: 2 },
        { name: null, traces: 1 },
      ],
    });
    expect((await droppedOf(other)).rows).toEqual([]);
  });

  it("tells 1,000 names apart, shows 100, and its sum is that of the usage", async () => {
    const account = await makeKeeping({ keep: "agents" });
    const names = Array.from({ length: 1_300 }, (_, n) => ({ trace: n + 1, id: 1, name: `GET /${n}` }));
    const often = Array.from({ length: 60 }, (_, n) => ({ trace: n + 9_000, id: 1, name: `GET /often/${n % 20}` }));
    for (const spans of [often, names]) {
      await sendJson(account, requestOf("web", spans)).expect(200);
      await drop();
    }
    const { rows } = await droppedOf(account);
    expect(rows).toHaveLength(101);
    expect(rows.slice(0, 20).map(({ traces }: { traces: number }) => traces)).toEqual(Array(20).fill(3));
    const sum = rows.reduce((all: number, { traces }: { traces: number }) => all + traces, 0);
    expect(sum).toBe(1_360);
    expect((await account.get("/api/v1/usage")).body.dropped.traces).toBe(1_360);
    const count = "SELECT count(*)::int FROM dropped_name WHERE account_id = $1";
    expect((await test.pool.query(count, [account.id])).rows).toEqual([{ count: 1_001 }]);
  });
});

describe("instrumentations that are left out", () => {
  const namesOf = async ({ id }: TestAccount) => {
    const sql = "SELECT name FROM span WHERE account_id = $1 ORDER BY name";
    return (await test.pool.query<{ name: string }>(sql, [id])).rows.map(({ name }) => name);
  };
  const agent: TestSpan = {
    trace: 1,
    id: 2,
    parent: 1,
    name: "agent",
    attributes: { "gen_ai.operation.name": "chat" },
  };
  const http = (rest: Partial<TestSpan> & { id: number; name: string }): TestSpan => ({ trace: 1, parent: 2, ...rest });
  const send = async (account: TestAccount) => {
    const library = "@opentelemetry/instrumentation-http";
    await sendJson(
      account,
      requestOf(library, [
        { trace: 1, id: 1, name: "root" },
        http({ id: 3, name: "client", kind: 3 }),
        http({ id: 4, name: "failed", kind: 3, status: { code: 2 } }),
        http({ id: 5, name: "server", kind: 2 }),
      ]),
    ).expect(200);
    await sendJson(account, requestOf("agents", [agent, http({ id: 6, name: "below", parent: 3 })])).expect(200);
    await sendJson(
      account,
      requestOf("opentelemetry.instrumentation.psycopg2", [http({ id: 7, name: "query" })]),
    ).expect(200);
  };

  it("lose spans of successful calls; roots, failures, entries and spans below stay", async () => {
    const account = await makeKeeping({ keep: "agents", leave_out: ["http"] });
    await send(account);
    expect(await namesOf(account)).toEqual(["agent", "below", "failed", "query", "root", "server"]);
  });

  it("stay where the account keeps all", async () => {
    const account = await makeKeeping({ keep: "all", leave_out: ["http", "database"] });
    await send(account);
    expect(await namesOf(account)).toHaveLength(7);
  });
});
