import { describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import { QueueUnavailableError } from "@waymark/service/queue";
import { useDatabase } from "@waymark/testing";
import pg from "pg";
import { createTestLog, makeMoreAlerts, makeRunningTrace, until } from "../worker.fixture.js";
import { createCloseStaleTraces, staleTracesIntervalMs } from "./close-stale-traces.job.js";

const database = useDatabase();
const staleAfterMs = 600_000;

function setUp({
  pool = database.pool,
  add,
  isStopping = () => false,
}: {
  pool?: pg.Pool;
  add?: () => Promise<void>;
  isStopping?: () => boolean;
} = {}) {
  const queued: AlertKey[] = [];
  const { log, lines } = createTestLog();
  const queue = {
    add: async (alerts: readonly AlertKey[]) => {
      await add?.();
      queued.push(...alerts);
    },
  };
  const close = createCloseStaleTraces({ pool, queue, log, staleAfterMs, rootAfterMs: 60_000, isStopping });
  return { close, queued, lines };
}

interface Trace {
  accountId: string;
  traceId: string;
}

/** The trace as it is now; its times as seconds ago. */
async function read({ accountId, traceId }: Trace) {
  const { rows } = await database.pool.query(
    `SELECT status, alert_id AS "alertId", ended_at IS NOT NULL AS "hasEnded",
       round(extract(epoch FROM now() - ended_at))::int AS "endedSecondsAgo",
       round(extract(epoch FROM now() - written_at))::int AS "writtenSecondsAgo"
     FROM trace WHERE account_id = $1 AND id = $2`,
    [accountId, traceId],
  );
  return rows[0];
}

async function alertsOf({ accountId }: Pick<Trace, "accountId">) {
  const { rows } = await database.pool.query(
    `SELECT id, trace_id AS "traceId", status FROM alert WHERE account_id = $1`,
    [accountId],
  );
  return rows;
}

const statusOf = async (trace: Trace) => (await read(trace)).status;

/** The alerts that were queued for a trace's account. */
const alertsFor = (queued: readonly AlertKey[], { accountId }: Trace) =>
  queued.filter((alert) => alert.accountId === accountId);

/** What was so long ago in the database grows older while the test runs. */
function expectAge(seconds: number, atLeast: number) {
  expect(seconds).toBeGreaterThanOrEqual(atLeast - 1);
  expect(seconds).toBeLessThan(atLeast + 300);
}

describe("closing stale traces", () => {
  it("closes a trace whose last write is longer ago, and no other", async () => {
    const silent = await makeRunningTrace(database.pool, { quietSeconds: 602 });
    const alive = await makeRunningTrace(database.pool, { quietSeconds: 590 });
    const { close } = setUp();
    await close();
    const closed = await read(silent);
    expect(closed.status).toBe("timeout");
    expect(closed.writtenSecondsAgo).toBeLessThan(300);
    expectAge(closed.endedSecondsAgo, 602);
    expect(await read(alive)).toMatchObject({ status: "running", hasEnded: false, alertId: null });
  });

  it.each(["success", "error", "timeout"])("leaves a trace alone that ended in %s", async (status) => {
    const trace = await makeRunningTrace(database.pool, { quietSeconds: 9_000, status });
    const { close } = setUp();
    await close();
    expect(await read(trace)).toMatchObject({ status, hasEnded: false, alertId: null });
    expect(await alertsOf(trace)).toEqual([]);
  });

  it("takes a span's write for a sign of life, be it the newest span or an older one that was changed", async () => {
    const byNewest = await makeRunningTrace(database.pool, { quietSeconds: 9_000, spansQuietSeconds: [8_000, 590] });
    const byOlder = await makeRunningTrace(database.pool, { quietSeconds: 9_000, spansQuietSeconds: [590, 8_000] });
    const silent = await makeRunningTrace(database.pool, { quietSeconds: 9_000, spansQuietSeconds: [602, 8_000] });
    const { close } = setUp();
    await close();
    expect([await statusOf(byNewest), await statusOf(byOlder)]).toEqual(["running", "running"]);
    const closed = await read(silent);
    expect(closed.status).toBe("timeout");
    expectAge(closed.endedSecondsAgo, 602);
  });

  it("notes a living trace's last write, and closes it once that is too long ago", async () => {
    const trace = await makeRunningTrace(database.pool, { quietSeconds: 9_000, spansQuietSeconds: [590, 8_000] });
    const { close } = setUp();
    await close();
    expectAge((await read(trace)).writtenSecondsAgo, 590);
    await database.pool.query("UPDATE span SET written_at = written_at - interval '1 minute' WHERE account_id = $1", [
      trace.accountId,
    ]);
    await database.pool.query("UPDATE trace SET written_at = written_at - interval '1 minute' WHERE id = $1", [
      trace.traceId,
    ]);
    await close();
    expect(await statusOf(trace)).toBe("timeout");
  });

  it("keeps an end that the trace gave, and ends no trace before it started", async () => {
    const ended = await makeRunningTrace(database.pool, { quietSeconds: 9_000, endedAt: "2026-01-02T03:05:00Z" });
    const ahead = await makeRunningTrace(database.pool, { quietSeconds: 9_000 });
    await database.pool.query("UPDATE trace SET started_at = '2999-01-01' WHERE id = $1", [ahead.traceId]);
    const { close } = setUp();
    await close();
    const { rows } = await database.pool.query("SELECT ended_at FROM trace WHERE id = ANY ($1) ORDER BY ended_at", [
      [ended.traceId, ahead.traceId],
    ]);
    expect(rows.map((row) => row.ended_at.toISOString())).toEqual([
      "2026-01-02T03:05:00.000Z",
      "2999-01-01T00:00:00.000Z",
    ]);
  });

  it("adds and queues one alert on Pro, and none on Free", async () => {
    const [pro, free] = await Promise.all(
      (["pro", "free"] as const).map((plan) => makeRunningTrace(database.pool, { plan, quietSeconds: 9_000 })),
    );
    if (!pro || !free) throw new Error("two traces were made");
    const { close, queued } = setUp();
    await close();
    await close();
    const [alert, ...more] = await alertsOf(pro);
    expect([alert, more]).toEqual([{ id: expect.any(String), traceId: pro.traceId, status: "timeout" }, []]);
    // A later PATCH compares it: the same status adds no alert, another one clears the id.
    expect((await read(pro)).alertId).toBe(alert.id);
    expect(alertsFor(queued, pro)).toEqual([{ accountId: pro.accountId, alertId: alert.id }]);
    expect(await read(free)).toMatchObject({ status: "timeout", alertId: null });
    expect([await alertsOf(free), alertsFor(queued, free)]).toEqual([[], []]);
  });

  it("counts the failure in the newest alert of a trace that has ten pending ones, and queues nothing", async () => {
    const trace = await makeRunningTrace(database.pool, { quietSeconds: 9_000 });
    await makeMoreAlerts(database.pool, { ...trace, count: 10 });
    const { close, queued } = setUp();
    expect(await close()).toEqual({ closed: 1, settled: 0, alerts: 0 });
    const { rows } = await database.pool.query("SELECT failures FROM alert WHERE trace_id = $1 ORDER BY id", [
      trace.traceId,
    ]);
    expect(rows.map(({ failures }) => failures)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(alertsFor(queued, trace)).toEqual([]);
    // Set all the same, so that a later PATCH to timeout adds nothing.
    expect((await read(trace)).alertId).toEqual(expect.any(String));
  });

  it("leaves the alerts to the sweep while the queue is down", async () => {
    const traces = [
      await makeRunningTrace(database.pool, { quietSeconds: 9_000 }),
      await makeRunningTrace(database.pool, { quietSeconds: 9_000 }),
    ];
    const { close, lines, queued } = setUp({
      add: async () => {
        throw new QueueUnavailableError("down");
      },
    });
    expect(await close()).toEqual({ closed: 2, settled: 0, alerts: 2 });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([[30, "stale traces closed"]]);
    expect(queued).toEqual([]);
    for (const trace of traces) expect(await alertsOf(trace)).toHaveLength(1);
  });
});

describe("closing stale traces beside others", () => {
  it("gives each trace one alert and one job, with several workers at once", async () => {
    const traces = await Promise.all(
      Array.from({ length: 300 }, () => makeRunningTrace(database.pool, { quietSeconds: 9_000 })),
    );
    const workers = Array.from({ length: 4 }, () => setUp());
    await Promise.all(workers.map(({ close }) => close()));
    await workers[0]?.close();
    const queued = workers.flatMap((worker) => worker.queued);
    for (const trace of traces) {
      expect(await statusOf(trace)).toBe("timeout");
      expect([(await alertsOf(trace)).length, alertsFor(queued, trace).length]).toEqual([1, 1]);
    }
  });

  it.each([
    ["finalized", "UPDATE trace SET status = 'success', ended_at = now(), written_at = now() WHERE id = $1", "success"],
    ["written to", "UPDATE trace SET written_at = now() WHERE id = $1", "running"],
  ])("leaves a trace to who has it locked, and untouched once it was %s", async (_, change, status) => {
    const [trace, other] = [
      await makeRunningTrace(database.pool, { quietSeconds: 9_000 }),
      await makeRunningTrace(database.pool, { quietSeconds: 9_000 }),
    ];
    const client = await database.pool.connect();
    const { close } = setUp();
    try {
      await client.query("BEGIN");
      await client.query(change, [trace.traceId]);
      await close();
      expect([await statusOf(trace), await statusOf(other)]).toEqual(["running", "timeout"]);
      await client.query("COMMIT");
    } finally {
      client.release();
    }
    await close();
    expect(await read(trace)).toMatchObject({ status, alertId: null });
    expect(await alertsOf(trace)).toEqual([]);
  });

  it("takes a trace that was locked in a later round, where nothing was written", async () => {
    const trace = await makeRunningTrace(database.pool, { quietSeconds: 9_000 });
    const client = await database.pool.connect();
    const { close } = setUp();
    try {
      await client.query("BEGIN");
      await client.query("SELECT FROM trace WHERE id = $1 FOR UPDATE", [trace.traceId]);
      await close();
      expect(await statusOf(trace)).toBe("running");
      await client.query("ROLLBACK");
    } finally {
      client.release();
    }
    await close();
    expect(await statusOf(trace)).toBe("timeout");
    expect(await alertsOf(trace)).toHaveLength(1);
  });

  it.each([
    ["finalized", "UPDATE trace SET status = 'success' WHERE id = $1", "success"],
    ["written to", "UPDATE trace SET written_at = now() WHERE id = $1", "running"],
  ])("leaves a trace untouched that was %s after the round began, before its turn came", async (_, change, status) => {
    const [first, next] = [
      await makeRunningTrace(database.pool, { quietSeconds: 9_000, spansQuietSeconds: [9_000] }),
      await makeRunningTrace(database.pool, { quietSeconds: 9_000 }),
    ];
    // A policy holds the round up where it reads the first trace's span: after its snapshot, before the next trace's lock.
    const role = `held_${first.traceId.slice(-12)}`;
    await database.pool.query(`
      CREATE ROLE ${role};
      GRANT ALL ON trace, trace_change, span, account, alert TO ${role};
      CREATE FUNCTION hold() RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END $$;
      ALTER TABLE span ENABLE ROW LEVEL SECURITY;
      CREATE POLICY held ON span TO ${role} USING (hold())`);
    const pool = new pg.Pool({ connectionString: database.directUrl, options: `-c role=${role}` });
    const holder = await database.pool.connect();
    try {
      await holder.query("SELECT pg_advisory_lock(1)");
      const closing = setUp({ pool }).close();
      await until(async () => {
        const { rows } = await holder.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
        return rows.length > 0;
      });
      await database.pool.query(change, [next.traceId]);
      await holder.query("SELECT pg_advisory_unlock(1)");
      await closing;
    } finally {
      holder.release(true);
      await pool.end();
      await database.pool.query(`
        DROP POLICY held ON span;
        ALTER TABLE span DISABLE ROW LEVEL SECURITY;
        DROP FUNCTION hold;
        DROP OWNED BY ${role};
        DROP ROLE ${role}`);
    }
    expect(await statusOf(first)).toBe("timeout");
    expect(await read(next)).toMatchObject({ status, alertId: null });
    expect(await alertsOf(next)).toEqual([]);
  });

  it("is exact while traces are finalized at the same time", async () => {
    const traces = await Promise.all(
      Array.from({ length: 200 }, () => makeRunningTrace(database.pool, { quietSeconds: 9_000 })),
    );
    const finalize = async (trace: Trace) => {
      const { rowCount } = await database.pool.query(
        "UPDATE trace SET status = 'success', alert_id = NULL, written_at = now() WHERE id = $1 AND status = 'running'",
        [trace.traceId],
      );
      return rowCount === 1;
    };
    const workers = [setUp(), setUp()];
    const [finalized] = await Promise.all([
      Promise.all(traces.toReversed().map(async (trace) => [trace, await finalize(trace)] as const)),
      ...workers.map(({ close }) => close()),
    ]);
    for (const [trace, wasFirst] of finalized) {
      expect(await statusOf(trace)).toBe(wasFirst ? "success" : "timeout");
      expect(await alertsOf(trace)).toHaveLength(wasFirst ? 0 : 1);
    }
  });
});

describe("closing many stale traces", () => {
  const { pool } = useDatabase();

  it("closes 10,000 in bounded batches, which a stop ends in between and the next round goes on with", async () => {
    const { accountId } = await makeRunningTrace(pool, { plan: "free", quietSeconds: 590 });
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
       SELECT $1, ('f' || right(gen_random_uuid()::text, -1))::uuid, 'a', 'n', 'running', now(), now() - interval '1 hour'
       FROM generate_series(1, 10000)`,
      [accountId],
    );
    let pages = 0;
    const { close: closeSome } = setUp({ pool, isStopping: () => pages++ >= 3 });
    expect(await closeSome()).toEqual({ closed: 1_499, settled: 0, alerts: 0 });
    const { close } = setUp({ pool });
    expect(await close()).toEqual({ closed: 8_501, settled: 0, alerts: 0 });
    const { rows } = await pool.query(
      "SELECT status, count(*) FROM trace WHERE account_id = $1 GROUP BY status ORDER BY status",
      [accountId],
    );
    expect(rows).toEqual([
      { status: "running", count: "1" },
      { status: "timeout", count: "10000" },
    ]);
  });

  it("goes on after a portion that fails, tells it at the end, and closes that in a later round", async () => {
    const poisoned = await makeRunningTrace(pool, { plan: "free", quietSeconds: 9_000 });
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
       SELECT $1, ('f' || right(gen_random_uuid()::text, -1))::uuid, 'a', 'n', 'running', now(), now()
       FROM generate_series(1, 500)`,
      [poisoned.accountId],
    );
    const onNextPage = await makeRunningTrace(pool, { plan: "free", quietSeconds: 9_000 });
    await pool.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE ON trace FOR EACH ROW
        WHEN (NEW.id = '${poisoned.traceId}') EXECUTE FUNCTION refuse()`);
    const { close } = setUp({ pool });
    await expect(close()).rejects.toMatchObject({ errors: [expect.objectContaining({ message: "refused" })] });
    const statuses = async () => {
      const ids = [poisoned.traceId, onNextPage.traceId];
      const { rows } = await pool.query("SELECT status FROM trace WHERE id = ANY ($1) ORDER BY account_id", [ids]);
      return rows.map(({ status }) => status);
    };
    expect(await statuses()).toEqual(["running", "timeout"]);
    await pool.query("DROP TRIGGER refuse ON trace");
    await close();
    expect(await statuses()).toEqual(["timeout", "timeout"]);
  });
});

describe("how often the worker looks for stale traces", () => {
  it.each([
    [1_000, 1_000],
    [4_000, 1_000],
    [4_400, 1_100],
    [240_000, 60_000],
    [7_776_000_000, 60_000],
  ])("for traces that are stale after %i ms is every %i ms", (staleAfterMs, everyMs) => {
    expect(staleTracesIntervalMs({ staleAfterMs, rootAfterMs: 86_400_000 })).toBe(everyMs);
    expect(staleTracesIntervalMs({ staleAfterMs: 86_400_000, rootAfterMs: staleAfterMs })).toBe(everyMs);
  });
});
