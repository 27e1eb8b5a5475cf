import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { Registry } from "prom-client";
import { spanBody, type TestAccount, traceBody, useApp } from "./app.fixture.js";
import { createGather } from "./gather.js";
import { createFinalizer } from "./traces/finalize-trace.query.js";
import type { TraceStatus } from "./traces/trace.schema.js";

const unknownTrace = "00000000-0000-7000-8000-000000000000";

describe("gathered writes", () => {
  const test = useApp();
  const uuid = createUuidV7();

  /** Rows and statements of a gathered statement so far. */
  const counted = async (statement: string) => {
    const metric = await test.registry.getSingleMetric("waymark_rows_per_statement")?.get();
    const sample = (suffix: string) =>
      metric?.values.find((each) => {
        const { metricName } = each as { metricName?: string };
        return metricName?.endsWith(suffix) && each.labels["statement"] === statement;
      })?.value ?? 0;
    return { rows: sample("_sum"), statements: sample("_count") };
  };
  const addSpans = (account: TestAccount, traceId: string, names: string[]) =>
    Promise.all(names.map((name) => account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ name }))));
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status);

  it("go out alone when nothing is in flight, and together when something is", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const before = await counted("add-span");
    for (let n = 0; n < 5; n++) await account.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(201);
    const alone = await counted("add-span");
    expect(alone).toEqual({ rows: before.rows + 5, statements: before.statements + 5 });
    // The first of the burst waits for the table; all that come meanwhile leave in one statement.
    const lock = await test.hold("LOCK TABLE span IN ACCESS EXCLUSIVE MODE");
    const first = addSpans(account, traceId, ["first"]);
    while ((await counted("add-span")).statements === alone.statements) await setTimeout(5);
    const burst = addSpans(
      account,
      traceId,
      times(99, (n) => `burst ${n}`),
    );
    await test.untilWaiting("add-span", 99);
    await lock.rollback();
    expect(new Set(statusesOf([...(await first), ...(await burst)]))).toEqual(new Set([201]));
    expect(await counted("add-span")).toEqual({ rows: alone.rows + 100, statements: alone.statements + 2 });
  });

  it("give each request its own answer: created, not found, over the limit", async () => {
    const [full, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    const [own, foreign] = [await full.makeTrace(), await other.makeTrace()];
    await test.pool.query("UPDATE trace_usage SET traces = 995 WHERE account_id = $1", [full.id]);
    const [creates, others, spans, strays, patches, thefts] = await Promise.all([
      Promise.all(times(20, () => full.post("/api/v1/traces", traceBody()))),
      Promise.all(times(20, () => other.post("/api/v1/traces", traceBody()))),
      Promise.all(times(20, () => full.post(`/api/v1/traces/${own}/spans`, spanBody()))),
      Promise.all(times(20, (n) => full.post(`/api/v1/traces/${n % 2 ? foreign : unknownTrace}/spans`, spanBody()))),
      Promise.all(times(20, () => full.patch(`/api/v1/traces/${own}`, { status: "success" }))),
      Promise.all(times(20, () => other.patch(`/api/v1/traces/${own}`, { status: "error" }))),
    ]);
    expect(statusesOf(creates).sort()).toEqual([...times(5, () => 201), ...times(15, () => 429)]);
    for (const { body } of creates.filter(({ status }) => status === 429)) expect(body.current).toBe(1000);
    expect(
      creates
        .filter(({ status }) => status === 201)
        .map(({ headers }) => Number(headers["ratelimit-remaining"]))
        .sort(),
    ).toEqual([0, 1, 2, 3, 4]);
    expect(statusesOf(others)).toEqual(times(20, () => 201));
    expect(others.map(({ headers }) => Number(headers["ratelimit-remaining"])).sort((a, b) => a - b)).toEqual(
      times(20, (n) => 979 + n),
    );
    expect(statusesOf(spans)).toEqual(times(20, () => 201));
    expect(statusesOf(strays)).toEqual(times(20, () => 404));
    expect(statusesOf(patches)).toEqual(times(20, () => 200));
    expect(statusesOf(thefts)).toEqual(times(20, () => 404));
    const read = (await full.get(`/api/v1/traces/${own}`)).body;
    expect(read.status).toBe("success");
    expect(new Set(read.spans.map(({ id }: { id: string }) => id))).toEqual(
      new Set(spans.map(({ body }) => body.span_id)),
    );
  });

  it("apply changes of one trace in the order they came", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const finalize = createFinalizer({ pool: test.pool, gather: createGather(new Registry()) });
    const statuses: TraceStatus[] = ["error", "success", "error", "error", "timeout", "running", "error"];
    const results = await Promise.all(
      statuses.map((status) => {
        const alertId = status === "error" || status === "timeout" ? uuid() : null;
        return finalize({ accountId: account.id, traceId, change: { status }, alertId });
      }),
    );
    expect(results.map(({ owed }) => owed)).toEqual([true, false, true, false, true, false, true]);
    expect((await account.get(`/api/v1/traces/${traceId}`)).body.status).toBe("error");
  });

  it("give a span a later place than those that came before it", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const answers = await addSpans(
        account,
        traceId,
        times(20, (m) => `${n}.${m}`),
      );
      ids.push(...answers.map(({ body }) => body.span_id).sort());
    }
    const { spans } = (await account.get(`/api/v1/traces/${traceId}`)).body;
    expect(spans.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  describe("when a row cannot be stored", () => {
    it("fail that row alone: its neighbours of the same account and of others are stored", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const [traceId, otherTraceId] = [await account.makeTrace(), await other.makeTrace()];
      // No body that passes our checks is refused by the database, so the database is taught to refuse one.
      await test.pool.query("ALTER TABLE span ADD CONSTRAINT no_poison CHECK (name <> 'poison')");
      const names = times(60, (n) => (n === 30 || n === 41 ? "poison" : `step ${n}`));
      const [answers, otherAnswers] = await Promise.all([
        addSpans(account, traceId, names),
        addSpans(other, otherTraceId, names.slice(0, 20)),
      ]);
      expect(statusesOf(answers)).toEqual(names.map((name) => (name === "poison" ? 500 : 201)));
      expect(statusesOf(otherAnswers)).toEqual(times(20, () => 201));
      const { spans } = (await account.get(`/api/v1/traces/${traceId}`)).body;
      expect(spans).toHaveLength(58);
      await test.pool.query("ALTER TABLE span DROP CONSTRAINT no_poison");
    });

    it("answer 503 for a locked account alone, and store what the others sent", async () => {
      const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      await locked.makeTrace();
      await free.makeTrace();
      const lock = await test.hold("SELECT FROM trace_usage WHERE account_id = $1 FOR UPDATE", [locked.id]);
      const [refused, created] = await Promise.all([
        Promise.all(times(10, () => locked.post("/api/v1/traces", traceBody()))),
        Promise.all(times(10, () => free.post("/api/v1/traces", traceBody()))),
      ]);
      await lock.rollback();
      expect(statusesOf(refused)).toEqual(times(10, () => 503));
      expect(statusesOf(created)).toEqual(times(10, () => 201));
      await locked.post("/api/v1/traces", traceBody()).expect(201);
      const { rows } = await test.pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [locked.id]);
      expect(rows).toEqual([{ traces: 2 }]);
    });
  });

  it("refuse rows beyond 2,000 that wait with 503 and Retry-After, and write all that were taken", async () => {
    const gather = createGather(new Registry());
    const written: number[] = [];
    const add = gather<{ accountId: string; n: number }, number>({
      name: "slow",
      run: async (rows) => {
        await test.pool.query("SELECT pg_sleep(0.02)");
        written.push(...rows.map(({ n }) => n));
        return rows.map(({ n }) => n);
      },
    });
    const results = await Promise.allSettled(times(2_100, (n) => add({ accountId: "a", n })));
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : -1))).toEqual(
      times(2_100, (n) => (n < 2_000 ? n : -1)),
    );
    expect(written).toEqual(times(2_000, (n) => n));
    expect(results[2_050]).toMatchObject({ reason: { status: 503, headers: { "Retry-After": "1" } } });
    expect(await add({ accountId: "a", n: 7 })).toBe(7);
  });

  it("count a row as what it carries: 1,000 to a statement but for one alone, and 50,000 that wait", async () => {
    const gather = createGather(new Registry());
    const statements: number[][] = [];
    const add = gather<{ accountId: string; count: number }, void>({
      name: "counted",
      run: async (rows) => {
        await test.pool.query("SELECT pg_sleep(0.005)");
        statements.push(rows.map(({ count }) => count));
        return rows.map(() => undefined);
      },
      maxRows: 1_000,
      countOf: ({ count }) => count,
    });
    const counts = [1, 600, 400, 1_500, 999, 1, 1, ...times(46, () => 1_000), 498];
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(50_000);
    const results = await Promise.allSettled([...counts, 1].map((count) => add({ accountId: "a", count })));
    expect(results.map(({ status }) => status)).toEqual([...counts.map(() => "fulfilled"), "rejected"]);
    expect(statements).toEqual([[1, 600], [400], [1_500], [999, 1], [1], ...times(46, () => [1_000]), [498]]);
  });

  it("refuse rows beyond 32 MiB of JSON that wait, and put at most 1 MiB into a statement", async () => {
    const gather = createGather(new Registry());
    const statements: number[] = [];
    const add = gather<{ accountId: string; bytes: number }, void>({
      name: "large",
      run: async (rows) => {
        await test.pool.query("SELECT pg_sleep(0.005)");
        statements.push(rows.reduce((sum, { bytes }) => sum + bytes, 0));
        return rows.map(() => undefined);
      },
      bytesOf: ({ bytes }) => bytes,
    });
    const size = 400 * 1_024;
    const results = await Promise.allSettled(times(100, () => add({ accountId: "a", bytes: size })));
    const taken = results.filter(({ status }) => status === "fulfilled");
    expect(taken).toHaveLength(Math.floor((32 * 1_048_576) / size));
    expect(Math.max(...statements)).toBe(2 * size);
    await add({ accountId: "a", bytes: 60 * 1_048_576 });
  });
});
