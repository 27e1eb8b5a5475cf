import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { plans } from "@waymark/plan";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { logRecord, logsOf } from "../otlp/otlp.fixture.js";

// Longer than any test holds a lock.
const test = useApp({ lockTimeoutMs: 9_000 });
const limit = plans.free.bytesPerMonth;
const tableNames = ["trace", "span", "score", "trace_context", "model_call", "idempotency_key", "span_log"];

const bytesOf = async (account: TestAccount) => (await account.get("/api/v1/usage").expect(200)).body.bytes;

/** Leaves so many bytes of the month. */
const leave = (account: TestAccount, bytes: number, max: number = limit) =>
  test.pool.query("UPDATE trace_usage SET bytes = $2 WHERE account_id = $1", [account.id, max - bytes]);

async function countRows({ id }: TestAccount): Promise<number> {
  const counts = tableNames.map((name) => `(SELECT count(*) FROM ${name} WHERE account_id = $1)`);
  const { rows } = await test.pool.query(`SELECT (${counts.join(" + ")})::int AS n`, [id]);
  return rows[0].n;
}

/** Spans of one OpenTelemetry trace with a name of so many characters. */
function otlpBody(traceId: string, spanIds: readonly string[], nameLength = 10) {
  const spans = spanIds.map((spanId) => ({
    traceId,
    spanId: spanId.repeat(16),
    parentSpanId: "f".repeat(16),
    name: "n".repeat(nameLength),
    startTimeUnixNano: "1769860800000000000",
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "s" } }] };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] };
}

async function spanPath(account: TestAccount): Promise<string> {
  const spans = `/api/v1/traces/${await account.makeTrace()}/spans`;
  return `${spans}/${(await account.post(spans, spanBody()).expect(201)).body.span_id}`;
}

/** Each way in: makes what it needs, and returns a request that may be sent several times. */
const waysIn: Record<string, (account: TestAccount) => Promise<() => ReturnType<TestAccount["post"]>>> = {
  "POST /traces": async (account) => () => account.post("/api/v1/traces", traceBody({ metadata: { a: "ä" } })),
  "POST /traces of a new agent": async (account) => () =>
    account.post("/api/v1/traces", traceBody({ agent_id: randomUUID() })),
  "POST /traces with a key": async (account) => () =>
    account.post("/api/v1/traces", traceBody()).set("Idempotency-Key", randomUUID()),
  "POST spans": async (account) => {
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    return () => account.post(path, spanBody({ input: { a: 1 }, output: "ä", error: "e" }));
  },
  "POST spans with attributes": async (account) => {
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    return () => account.post(path, spanBody({ attributes: { "gen_ai.usage.input_tokens": 1 } }));
  },
  "POST spans with a key": async (account) => {
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    return () => account.post(path, spanBody()).set("Idempotency-Key", randomUUID());
  },
  "POST spans/batch": async (account) => {
    const path = `/api/v1/traces/${await account.makeTrace()}/spans/batch`;
    return () => account.post(path, { spans: [spanBody(), spanBody({ output: [1] })] });
  },
  "PATCH of a span's output": async (account) => {
    const path = await spanPath(account);
    return () => account.patch(path, { output: "o".repeat(1_000) });
  },
  "PATCH of a span's attributes": async (account) => {
    const path = await spanPath(account);
    return () => account.patch(path, { attributes: { "gen_ai.usage.input_tokens": Date.now() } });
  },
  "POST scores": async (account) => {
    const path = `/api/v1/traces/${await account.makeTrace()}/scores`;
    return () => account.post(path, { name: "helpful", value: "yes", comment: "c".repeat(100) });
  },
  "POST /v1/traces": async (account) => {
    await account.makeTrace({ agent_id: "unknown_service" });
    const traceId = randomUUID().replaceAll("-", "");
    await account.post("/v1/traces", otlpBody(traceId, ["1"])).expect(200);
    let last = 1;
    return () => account.post("/v1/traces", otlpBody(traceId, [(++last).toString(16)]));
  },
  "POST /v1/logs": async (account) => {
    const ids = { traceId: randomUUID().replaceAll("-", ""), spanId: "1111111111111111" };
    let last = 100;
    return () => account.post("/v1/logs", logsOf([logRecord({ ...ids, timeUnixNano: "1", body: `line ${++last}` })]));
  },
};

describe.each(Object.keys(waysIn))("%s", (name) => {
  it("stores to the last byte of the month, and nothing beyond it", async () => {
    const account = await test.makeAccount("pro");
    const max = plans.pro.bytesPerMonth;
    const send = await (waysIn[name] as (typeof waysIn)[string])(account);
    const before = (await bytesOf(account)).current;
    expect((await send()).status).toBeLessThan(300);
    const size = (await bytesOf(account)).current - before;
    expect(size).toBeGreaterThan(256);

    await leave(account, size, max);
    const last = await send();
    expect(last.status).toBeLessThan(300);
    expect(last.headers).toMatchObject({ "waymark-bytes-limit": `${max}`, "waymark-bytes-remaining": "0" });
    expect(await bytesOf(account)).toEqual({ limit: max, current: max, remaining: 0 });

    await leave(account, size - 1, max);
    const rows = await countRows(account);
    const refused = await send();
    expect(refused.status).toBe(429);
    const details = { reason: "stored_bytes", limit: max, current: max - size + 1, upgrade_url: "/dashboard/billing" };
    expect(refused.body).toMatchObject({ error: "Monthly storage limit reached", ...details });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect([await countRows(account), (await bytesOf(account)).remaining]).toEqual([rows, size - 1]);
  });
});

describe("the month's bytes", () => {
  it("of a span are 256 and the UTF-8 of its texts and its JSON as received", async () => {
    const account = await test.makeAccount("free");
    const trace = await account.makeTrace({ agent_id: "ä", name: "Ω", metadata: undefined });
    expect((await bytesOf(account)).current).toBe(256 + 2 + 2);
    const body = `{"name":"€","status":"ok","started_at":"2026-06-01T12:00:01Z","input":{"a" : 1e400},"error":"x"}`;
    await account.post(`/api/v1/traces/${trace}/spans`, body).type("json").expect(201);
    expect((await bytesOf(account)).current).toBe(260 + 256 + 3 + `{"a" : 1e400}`.length + 1);
  });

  it("tell a Free account where to upgrade", async () => {
    const account = await test.makeAccount("free");
    const trace = await account.makeTrace();
    await leave(account, 100);
    const { body } = await account.post(`/api/v1/traces/${trace}/spans`, spanBody()).expect(429);
    expect(body).toEqual({
      error: "Monthly storage limit reached. Upgrade to Pro.",
      reason: "stored_bytes",
      limit,
      current: limit - 100,
      upgrade_url: "/dashboard/billing",
    });
  });

  it("count no refused, unknown, repeated or deleted request, and begin anew with the month", async () => {
    const account = await test.makeAccount("free");
    const trace = await account.makeTrace();
    const spans = `/api/v1/traces/${trace}/spans`;
    const otlp = otlpBody("9".repeat(32), ["1", "2"]);
    const keyed = () => account.post(spans, spanBody()).set("Idempotency-Key", "key");
    const score = () =>
      account.post(`/api/v1/traces/${trace}/scores`, { name: "a", value: 1 }).set("Idempotency-Key", "s");
    const { span_id } = (await keyed().expect(201)).body;
    await score().expect(201);
    await account.post("/v1/traces", otlp).expect(200);
    const before = await bytesOf(account);
    // Also where nothing is left.
    for (const left of [before.remaining, 0]) {
      await leave(account, left);
      await keyed().expect(201);
      await score().expect(201);
      await account.post("/v1/traces", otlp).expect(200, {});
      await account.post(`/api/v1/traces/${randomUUID()}/spans`, spanBody()).expect(404);
      await account.post(spans, spanBody({ status: "good" })).expect(400);
      await account.patch(`${spans}/${span_id}`, { status: "error", output: null }).expect(200);
      await account.patch(`/api/v1/traces/${trace}`, { status: "success" }).expect(200);
      expect((await bytesOf(account)).remaining).toBe(left);
    }
    await account.delete(`/api/v1/traces/${trace}`).expect(200);
    expect((await bytesOf(account)).remaining).toBe(0);
    const later = new Date();
    later.setUTCMonth(later.getUTCMonth() + 1, 1);
    test.setNow(later);
    expect((await bytesOf(account)).current).toBe(0);
    const other = await account.makeTrace();
    await account.post(`/api/v1/traces/${other}/spans`, spanBody()).expect(201);
    test.setNow(new Date());
  });

  it("take the small requests of a full account, and refuse the large ones that came with them", async () => {
    const account = await test.makeAccount("free");
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    const small = spanBody({ name: "s" });
    await leave(account, 3 * 257);
    const lock = await test.hold("SELECT FROM trace_usage WHERE account_id = $1 FOR UPDATE", [account.id]);
    const bodies = [
      small,
      spanBody({ output: "x".repeat(1_000) }),
      small,
      spanBody({ output: "x".repeat(600) }),
      small,
    ];
    const answers = Promise.all(bodies.map((body) => account.post(path, body)));
    await test.untilLockWaits();
    await lock.rollback();
    expect((await answers).map(({ status }) => status)).toEqual([201, 429, 201, 429, 201]);
    expect((await bytesOf(account)).remaining).toBe(0);
  });

  it("refuse a part of an OpenTelemetry request by partial_success, and a whole one with 429", async () => {
    const account = await test.makeAccount("free");
    const [small, large] = ["1", "2"].map((digit) => digit.repeat(32)) as [string, string];
    for (const id of [small, large]) await account.post("/v1/traces", otlpBody(id, ["1"])).expect(200);
    await leave(account, 1_000);
    const two = {
      resourceSpans: [small, large].flatMap((id) => otlpBody(id, ["2"], id === small ? 1 : 900).resourceSpans),
    };
    const { body } = await account.post("/v1/traces", two).expect(200);
    expect(body.partialSuccess.rejectedSpans).toBe("1");
    expect(body.partialSuccess.errorMessage).toContain("1 over the limit of 256000000 bytes a month");
    const refused = await account.post("/v1/traces", otlpBody(large, ["3"], 900)).expect(429);
    expect(refused.body).toMatchObject({ code: 8, reason: "stored_bytes", limit });
    // A new trace is refused with its spans.
    await leave(account, 10);
    await account.post("/v1/traces", otlpBody("3".repeat(32), ["1"])).expect(429);
    expect((await account.get("/api/v1/traces").expect(200)).body.traces).toHaveLength(2);
  });
});

describe("64 requests over two instances", () => {
  it("store exactly as many bytes as are left, whichever way they come", async () => {
    const account = await test.makeAccount("pro");
    const onOther = (await test.startInstance())(account);
    const max = plans.pro.bytesPerMonth;
    const trace = await account.makeTrace();
    const path = `/api/v1/traces/${trace}/spans`;
    const { span_id } = (await account.post(path, spanBody()).expect(201)).body;
    const size = 1_000;
    const fill = (texts: number) => "x".repeat(size - 256 - texts);
    const waysOfSize = [
      (by: TestAccount) => by.post(path, spanBody({ name: "s", error: fill(1) })),
      (by: TestAccount) => by.post(`${path}/batch`, { spans: [spanBody({ name: "s", error: fill(1) })] }),
      (by: TestAccount) => by.post(path, spanBody({ name: "s", error: fill(1) })).set("Idempotency-Key", randomUUID()),
      (by: TestAccount) => by.patch(`${path}/${span_id}`, { error: fill(0) }),
      (by: TestAccount) => by.post("/api/v1/traces", traceBody({ agent_id: "agent", name: fill(5) })),
      (by: TestAccount) => by.post(`/api/v1/traces/${trace}/scores`, { name: "s", value: 1, comment: fill(1) }),
    ];
    await leave(account, 40 * size + size - 1, max);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, n) => waysOfSize[n % waysOfSize.length]?.(n % 2 ? account : onOther)),
    );
    const statuses = answers.map((answer) => answer?.status ?? 0);
    expect(statuses.filter((status) => status < 300)).toHaveLength(40);
    expect(statuses.filter((status) => status === 429)).toHaveLength(24);
    expect((await bytesOf(account)).remaining).toBe(size - 1);
  });
});
