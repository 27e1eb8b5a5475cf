import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import type { TraceStatus } from "@waymark/traces";
import { Registry } from "prom-client";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { createFinalizer } from "../traces/finalize-trace.query.js";
import { createGroupCommitFactory } from "./group-commit.js";

const unknownTrace = "00000000-0000-7000-8000-000000000000";

describe("group commits", () => {
  // A test's lock must outlast a hundred requests on a busy machine.
  const test = useApp({ lockTimeoutMs: 5_000 });
  const uuid = createUuidV7();

  /** Rows and statements of a batched statement so far. */
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
    // The first of the burst waits for the table; the others go out in one statement.
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
    const finalize = createFinalizer({ pool: test.pool, createGroupCommit: createGroupCommitFactory(new Registry()) });
    const statuses: TraceStatus[] = ["error", "success", "error", "error", "timeout", "running", "error"];
    const results = await Promise.all(
      statuses.map((status) => {
        const alertId = status === "error" || status === "timeout" ? uuid() : null;
        return finalize({ accountId: account.id, traceId, change: { status }, alertId });
      }),
    );
    expect(results.map(({ isAlertNew }) => isAlertNew)).toEqual([true, false, true, false, true, false, true]);
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
      // The database takes every body that passes our checks, so the test makes it refuse one.
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

  describe("beyond a limit", () => {
    /** A statement in flight until `letGo`, and the rows of each statement. */
    const held = <Item extends { accountId: string; count?: number; bytes?: number }>(options: object = {}) => {
      const statements: Item[][] = [];
      let letGo: () => void = () => undefined;
      const isHeld = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const registry = new Registry();
      const add = createGroupCommitFactory(registry)<Item, void>({
        name: "held",
        run: async (rows) => {
          statements.push([...rows]);
          if (statements.length === 1) await isHeld;
          return rows.map(() => undefined);
        },
        countOf: ({ count = 1 }) => count,
        bytesOf: ({ bytes = 0 }) => bytes,
        ...options,
      });
      return { add, statements, letGo, registry };
    };
    const untilOut = async (statements: unknown[]) => {
      while (statements.length === 0) await setTimeout(1);
    };

    it.each([
      ["500 requests", 500, {}, "waiting_rows"],
      ["12,500 spans", 12, { count: 1_000 }, "waiting_count"],
      ["8 MiB", 8, { bytes: 1_048_576 }, "waiting_bytes"],
    ])("refuse one account's above %s with 429, and take another's", async (most, taken, row, limit) => {
      const { add, statements, letGo, registry } = held();
      const first = add({ accountId: "a" });
      await untilOut(statements);
      const waiting = times(taken, () => add({ accountId: "a", ...row }));
      await expect(add({ accountId: "a", ...row })).rejects.toMatchObject({
        status: 429,
        body: { error: "Too much in progress for this account", reason: expect.stringContaining(`At most ${most}`) },
        headers: { "Retry-After": "1" },
      });
      const other = add({ accountId: "b", ...row });
      letGo();
      await Promise.all([first, ...waiting, other]);
      const refused = await registry.getSingleMetric("waymark_refused_total")?.get();
      expect(refused?.values).toEqual([{ labels: { limit, scope: "account" }, value: 1 }]);
    });

    it("refuse all that comes above 2,000 with 503 and Retry-After", async () => {
      const { add, statements, letGo } = held();
      const first = add({ accountId: "0" });
      await untilOut(statements);
      const waiting = times(2_000, (n) => add({ accountId: String(n % 8) }));
      await expect(add({ accountId: "new" })).rejects.toMatchObject({
        status: 503,
        body: { reason: "At most 2,000 requests of all accounts together may wait for held" },
        headers: { "Retry-After": "1" },
      });
      letGo();
      await Promise.all([first, ...waiting]);
      await add({ accountId: "new" });
    });
  });
});
