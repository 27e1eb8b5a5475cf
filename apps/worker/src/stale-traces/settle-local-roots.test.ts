import { describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { spanUuid } from "@waymark/traces/otlp";
import { createTestLog } from "../worker.fixture.js";
import { createCloseStaleTraces } from "./close-stale-traces.job.js";
import { inPortions } from "./close-stale-traces.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();

function setUp() {
  const queued: AlertKey[] = [];
  const queue = { add: async (alerts: readonly AlertKey[]) => void queued.push(...alerts) };
  const { log } = createTestLog();
  const silences = { staleAfterMs: 86_400_000, rootAfterMs: 60_000 };
  const run = createCloseStaleTraces({ pool, queue, log, ...silences, isStopping: () => false });
  return { run, queued };
}

interface TestSpan {
  id: number;
  parent?: number;
  quietSeconds?: number;
  startSecond?: number;
  isError?: boolean;
}

/** A running trace of OpenTelemetry without a root span, with a resource. */
async function makeRootless(spans: readonly TestSpan[], plan: "free" | "pro" = "pro") {
  const [accountId, traceId] = [uuid(), uuid()];
  const otel = traceId.replaceAll("-", "");
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [
    accountId,
    `${accountId}@a.example`,
    plan,
  ]);
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id, written_at)
     VALUES ($1, $2, 'shop', 'first', 'running', '2026-01-01', decode($3, 'hex'), now() - interval '1 hour')`,
    [accountId, traceId, otel],
  );
  await pool.query("INSERT INTO trace_context VALUES ($1, $2, 7, $3, 20)", [
    accountId,
    traceId,
    '{"service.name":"shop"}',
  ]);
  const uuidOf = (id: number) => spanUuid(traceId, id.toString(16).padStart(16, "0"));
  for (const { id, parent, quietSeconds = 61, startSecond = id, isError = false } of spans) {
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, parent_span_id, resource_id, written_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 7, now() - make_interval(secs => $9))`,
      [
        ...[accountId, traceId, uuidOf(id), `span ${id}`, isError ? "error" : "ok"],
        ...[`2026-01-02T00:00:0${startSecond}Z`, "2026-01-02T00:00:30Z"],
        ...[parent === undefined ? null : uuidOf(parent), quietSeconds],
      ],
    );
  }
  const read = async () => {
    const { rows } = await pool.query(
      `SELECT name, status, started_at::text, ended_at::text, root_span_id AS root, is_root_local AS "isLocal", metadata,
         (SELECT array_agg(status) FROM alert a WHERE a.account_id = t.account_id) AS alerts,
         (SELECT array_agg(id) FROM agent a WHERE a.account_id = t.account_id) AS agents
       FROM trace t WHERE account_id = $1`,
      [accountId],
    );
    return rows[0];
  };
  return { accountId, traceId, otel, uuidOf, read };
}

describe("an OpenTelemetry trace whose root does not come", () => {
  it("ends by the first span whose parent is missing", async () => {
    const trace = await makeRootless([
      { id: 1, parent: 2, startSecond: 1 },
      { id: 2, parent: 9, startSecond: 3 },
      { id: 3, parent: 8, startSecond: 2 },
    ]);
    const { run, queued } = setUp();
    expect(await run()).toEqual({ closed: 0, settled: 1, alerts: 0 });
    expect(await trace.read()).toEqual({
      name: "span 3",
      status: "success",
      root: trace.uuidOf(3),
      isLocal: true,
      started_at: "2026-01-02 00:00:02+00",
      ended_at: "2026-01-02 00:00:30+00",
      alerts: null,
      agents: ["shop"],
      metadata: { otel_trace_id: trace.otel, resource: { "service.name": "shop" } },
    });
    expect(queued).toEqual([]);
    expect(await run()).toEqual({ closed: 0, settled: 0, alerts: 0 });
  });

  it.each([
    [59, "running"],
    [62, "success"],
  ])("is %i seconds after its last span %s", async (quietSeconds, status) => {
    const trace = await makeRootless([
      { id: 1, parent: 9, quietSeconds },
      { id: 2, parent: 9, quietSeconds: 3_000 },
    ]);
    await setUp().run();
    expect(await trace.read()).toMatchObject({ status });
  });

  it("is an error with one alert where any span without its parent failed, and none of a child", async () => {
    const failed = await makeRootless([
      { id: 1, parent: 9 },
      { id: 2, parent: 8, isError: true },
    ]);
    const child = await makeRootless([
      { id: 1, parent: 9 },
      { id: 2, parent: 1, isError: true },
    ]);
    const free = await makeRootless([{ id: 1, parent: 9, isError: true }], "free");
    const workers = [setUp(), setUp(), setUp()];
    await Promise.all(workers.map(({ run }) => run()));
    await workers[0]?.run();
    expect(await failed.read()).toMatchObject({ name: "span 1", status: "error", alerts: ["error"] });
    expect(await child.read()).toMatchObject({ status: "success", alerts: null });
    expect(await free.read()).toMatchObject({ status: "error", alerts: null, agents: null });
    const queued = workers.flatMap((worker) => worker.queued);
    expect(queued.map(({ accountId }) => accountId)).toEqual([failed.accountId]);
  });

  it("ends where its spans form a circle, and waits for a day where it has no spans", async () => {
    const circle = await makeRootless([
      { id: 1, parent: 2 },
      { id: 2, parent: 1 },
    ]);
    const empty = await makeRootless([]);
    await setUp().run();
    expect(await circle.read()).toMatchObject({ name: "span 1", status: "success" });
    expect(await empty.read()).toMatchObject({ status: "running" });
    await pool.query("UPDATE trace SET written_at = now() - interval '25 hours' WHERE account_id = $1", [
      empty.accountId,
    ]);
    await setUp().run();
    expect(await empty.read()).toMatchObject({ status: "timeout", alerts: ["timeout"] });
  });

  it("tells nobody of one that fell silent more than a week ago", async () => {
    const trace = await makeRootless([{ id: 1, parent: 9, isError: true, quietSeconds: 8 * 86_400 }]);
    await pool.query("UPDATE trace SET written_at = now() - interval '8 days' WHERE account_id = $1", [
      trace.accountId,
    ]);
    const { run, queued } = setUp();
    await run();
    expect(await trace.read()).toMatchObject({ status: "error", alerts: null });
    expect(queued).toEqual([]);
  });

  it("is not delayed by another account's large traces, which no statement takes together", async () => {
    const large = await makeRootless([]);
    await pool.query("UPDATE trace SET written_at = now() - interval '1 day' WHERE account_id = $1", [large.accountId]);
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id, written_at)
       SELECT $1, ('0190' || right(id::text, -4))::uuid, 'shop', 'n', 'running', now(), uuid_send(id), now() - interval '1 hour'
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 12)) AS g`,
      [large.accountId],
    );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, parent_span_id, resource_id, written_at)
       SELECT account_id, id, gen_random_uuid(), 's', 'ok', now(), gen_random_uuid()::text, 7, now() - interval '1 hour'
       FROM trace, generate_series(1, 2500) WHERE account_id = $1 AND name = 'n'`,
      [large.accountId],
    );
    const small = await makeRootless([{ id: 1, parent: 9 }]);
    const { rows } = await pool.query(
      'SELECT account_id AS "accountId", id AS "traceId" FROM trace WHERE account_id = ANY ($1)',
      [[large.accountId, small.accountId]],
    );
    const portions = await inPortions(pool, rows);
    expect(portions.map((some) => some.length)).toEqual([2, ...Array(12).fill(1)]);
    expect(portions[0]).toContainEqual({ accountId: small.accountId, traceId: small.traceId });
    await setUp().run();
    expect(await small.read()).toMatchObject({ status: "success" });
    const running = "SELECT count(*)::int FROM trace WHERE account_id = $1 AND status = 'running'";
    expect((await pool.query(running, [large.accountId])).rows).toEqual([{ count: 0 }]);
  });

  it("takes 2,000 at once, each once, with several workers at work", async () => {
    const { accountId } = await makeRootless([{ id: 1, parent: 9 }]);
    await pool.query(
      `WITH made AS (
         INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id, written_at)
         SELECT $1, ('0190' || right(id::text, -4))::uuid, 'shop', 'n', 'running', now(), uuid_send(id), now() - interval '1 hour'
         FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 2000)) AS g RETURNING id
       )
       INSERT INTO span (account_id, trace_id, id, name, status, started_at, parent_span_id, resource_id, written_at)
       SELECT $1, id, gen_random_uuid(), 's', 'error', now(), gen_random_uuid()::text, 7, now() - interval '1 hour' FROM made`,
      [accountId],
    );
    const workers = [setUp(), setUp()];
    await Promise.all(workers.map(({ run }) => run()));
    await workers[0]?.run();
    const { rows } = await pool.query(
      "SELECT status, count(*)::int FROM trace WHERE account_id = $1 GROUP BY 1 ORDER BY 1",
      [accountId],
    );
    expect(rows).toEqual([
      { status: "error", count: 2_000 },
      { status: "success", count: 1 },
    ]);
    const alerts = await pool.query("SELECT count(*)::int FROM alert WHERE account_id = $1", [accountId]);
    expect(alerts.rows).toEqual([{ count: 2_000 }]);
  });
});
