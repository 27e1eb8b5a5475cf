import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createTestLog, makeFailedTrace, makeOldTrace } from "../worker.fixture.js";
import { createPurgeExpired } from "./purge-expired.job.js";

const database = useDatabase();
const dayMs = 24 * 3_600_000;

const purge = (isStopping = () => false) =>
  createPurgeExpired({ pool: database.pool, log: createTestLog().log, now: () => new Date(), isStopping })();

async function countOf(accountId: string) {
  const { rows } = await database.pool.query(
    `SELECT (SELECT count(*) FROM trace WHERE account_id = $1)::int AS trace,
       (SELECT count(*) FROM span WHERE account_id = $1)::int AS span,
       (SELECT count(*) FROM alert WHERE account_id = $1)::int AS alert`,
    [accountId],
  );
  return rows[0];
}

describe("retention", () => {
  it.each([
    ["free", 30],
    ["pro", 90],
  ] as const)(
    "removes a %s account's traces, spans and settled alerts after %i days, and no sooner",
    async (plan, days) => {
      const { accountId } = await makeFailedTrace(database.pool, { plan });
      await makeOldTrace(database.pool, { accountId, ageMs: days * dayMs + 60_000 });
      await makeOldTrace(database.pool, { accountId, ageMs: days * dayMs - 60_000 });
      expect(await countOf(accountId)).toEqual({ trace: 3, span: 5, alert: 3 });
      await purge();
      expect(await countOf(accountId)).toEqual({ trace: 2, span: 4, alert: 2 });
    },
  );

  it("removes many more than one batch", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    await database.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT $1, '01000000-0000-7000-8000-000000000000', gen_random_uuid(), 's', 'ok', now() FROM generate_series(1, 2500)`,
      [accountId],
    );
    expect((await purge()).span).toBeGreaterThanOrEqual(2_500);
    expect(await countOf(accountId)).toMatchObject({ span: 3 });
  });

  it("keeps a pending alert, however old", async () => {
    const trace = await makeFailedTrace(database.pool, { plan: "free" });
    await database.pool.query(
      `INSERT INTO alert (account_id, id, trace_id, status)
       VALUES ($1, '01000000-0000-7000-8000-000000000000', '01000000-0000-7000-8000-000000000000', 'error')`,
      [trace.accountId],
    );
    await purge();
    expect(await countOf(trace.accountId)).toMatchObject({ alert: 2 });
  });

  it("stops between batches when the worker stops", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    await makeOldTrace(database.pool, { accountId, ageMs: 40 * dayMs });
    await purge(() => true);
    expect(await countOf(accountId)).toMatchObject({ trace: 2 });
  });

  it("lets two workers purge at once", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    for (let i = 0; i < 20; i++) await makeOldTrace(database.pool, { accountId, ageMs: 40 * dayMs });
    await Promise.all([purge(), purge(), purge()]);
    await purge();
    expect(await countOf(accountId)).toEqual({ trace: 1, span: 3, alert: 1 });
  });

  it("removes idempotency keys after 48 hours, and no sooner, over several batches", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    await database.pool.query(
      `INSERT INTO idempotency_key (account_id, key, request_hash, ids, created_at)
       SELECT $1, 'key ' || n, decode(repeat('00', 32), 'hex'), '{}', now() - interval '48 hours' - interval '1 minute' * n
       FROM generate_series(-1, 2500) AS n WHERE n <> 0`,
      [accountId],
    );
    const keysLeft = async () => {
      const { rows } = await database.pool.query("SELECT key FROM idempotency_key WHERE account_id = $1", [accountId]);
      return rows.map(({ key }) => key);
    };
    await purge(() => true);
    expect(await keysLeft()).toHaveLength(2_501);
    await Promise.all([purge(), purge()]);
    await purge();
    expect(await keysLeft()).toEqual(["key -1"]);
  });

  it("removes contexts with their trace, and ids of deleted OpenTelemetry traces after 48 hours", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    const young = "ffffffff-0000-7000-8000-000000000000";
    await database.pool.query(
      `INSERT INTO trace_context (account_id, trace_id, id, value, bytes) VALUES
       ($1, '01000000-0000-7000-8000-000000000000', 1, '{}', 2), ($1, $2, 1, '{}', 2)`,
      [accountId, young],
    );
    await database.pool.query(
      `INSERT INTO deleted_otel_trace (account_id, otel_trace_id, deleted_at) VALUES
       ($1, decode(repeat('01', 16), 'hex'), now() - interval '49 hours'),
       ($1, decode(repeat('02', 16), 'hex'), now() - interval '47 hours')`,
      [accountId],
    );
    expect(await purge()).toMatchObject({ trace_context: 1 });
    const { rows: contexts } = await database.pool.query("SELECT trace_id FROM trace_context WHERE account_id = $1", [
      accountId,
    ]);
    expect(contexts).toEqual([{ trace_id: young }]);
    const { rows: deleted } = await database.pool.query(
      "SELECT encode(otel_trace_id, 'hex') AS id FROM deleted_otel_trace WHERE account_id = $1",
      [accountId],
    );
    expect(deleted).toEqual([{ id: "02".repeat(16) }]);
  });

  it("destroys salts after 48 hours and clears counters of requests whose minute is over", async () => {
    await database.pool.query(
      `INSERT INTO visitor_salt (day, salt, created_at) VALUES
       ('2026-01-01', decode(repeat('00', 32), 'hex'), now() - interval '49 hours'),
       ('2026-01-03', decode(repeat('00', 32), 'hex'), now() - interval '47 hours')`,
    );
    await database.pool.query(
      `INSERT INTO rate_limit (key, points, expire) VALUES ('over', 1, $1), ('running', 1, $2)`,
      [Date.now() - 1, Date.now() + 60_000],
    );
    await purge();
    const { rows: salts } = await database.pool.query("SELECT day::text FROM visitor_salt");
    expect(salts).toEqual([{ day: "2026-01-03" }]);
    const { rows: counters } = await database.pool.query("SELECT key FROM rate_limit");
    expect(counters).toEqual([{ key: "running" }]);
  });

  it("removes settled summaries of mails with the alerts that they listed", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    await database.pool.query(
      `INSERT INTO alert_summary (account_id, id, sent_at) VALUES ($1, '01000000-0000-7000-8000-000000000000', now()),
       ($1, '01000000-0000-7000-8000-000000000001', NULL)`,
      [accountId],
    );
    await purge();
    const { rows } = await database.pool.query("SELECT id FROM alert_summary WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ id: "01000000-0000-7000-8000-000000000001" }]);
  });

  it("gives accounts turns: a backlog of one waits while the others are purged, and is purged in the same round", async () => {
    const traces = [
      await makeFailedTrace(database.pool, { plan: "free" }),
      await makeFailedTrace(database.pool, { plan: "free" }),
    ];
    const [busy, quiet] = traces.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
    if (!busy || !quiet) throw new Error("two traces");
    await database.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT $1, '01000000-0000-7000-8000-000000000000', gen_random_uuid(), 's', 'ok', now() FROM generate_series(1, 21500)`,
      [busy.accountId],
    );
    await makeOldTrace(database.pool, { accountId: quiet.accountId, ageMs: 40 * dayMs });
    const visited: string[] = [];
    const watched = Object.assign(Object.create(database.pool), {
      query: (statement: { name?: string; values?: unknown[] }, values?: unknown[]) => {
        const account = statement.name === "purge-span" ? statement.values?.[0] : undefined;
        if (typeof account === "string" && account !== visited.at(-1)) visited.push(account);
        return database.pool.query(statement as never, values as never);
      },
    });
    await createPurgeExpired({
      pool: watched,
      log: createTestLog().log,
      now: () => new Date(),
      isStopping: () => false,
    })();
    const own = visited.filter((id) => id === busy.accountId || id === quiet.accountId);
    expect(own).toEqual([busy.accountId, quiet.accountId, busy.accountId]);
    expect(await countOf(busy.accountId)).toMatchObject({ span: 3 });
    expect(await countOf(quiet.accountId)).toMatchObject({ trace: 1 });
  });

  it("goes on where one account's rows cannot be removed, and destroys salts all the same", async () => {
    const [broken, fine] = [
      await makeFailedTrace(database.pool, { plan: "free" }),
      await makeFailedTrace(database.pool, { plan: "free" }),
    ];
    for (const { accountId } of [broken, fine]) await makeOldTrace(database.pool, { accountId, ageMs: 40 * dayMs });
    await database.pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF OLD.account_id = '${broken.accountId}' THEN RAISE 'broken'; END IF; RETURN OLD; END $$;
       CREATE TRIGGER refuse BEFORE DELETE ON trace FOR EACH ROW EXECUTE FUNCTION refuse();
       INSERT INTO visitor_salt (day, salt, created_at) VALUES ('2025-01-01', decode(repeat('00', 32), 'hex'), now() - interval '49 hours')`,
    );
    const { log, lines } = createTestLog();
    await createPurgeExpired({ pool: database.pool, log, now: () => new Date(), isStopping: () => false })();
    await database.pool.query("DROP TRIGGER refuse ON trace");
    expect(await countOf(broken.accountId)).toMatchObject({ trace: 2 });
    expect(await countOf(fine.accountId)).toMatchObject({ trace: 1 });
    const { rowCount } = await database.pool.query("SELECT FROM visitor_salt WHERE day = '2025-01-01'");
    expect(rowCount).toBe(0);
    expect(lines.find(({ level }) => level === 50)).toMatchObject({ accountId: broken.accountId });
  });

  it("removes what an account left that was deleted by SQL", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    await makeFailedTrace(database.pool);
    await database.pool.query("DELETE FROM account WHERE id = $1", [accountId]);
    await purge();
    expect(await countOf(accountId)).toEqual({ trace: 0, span: 0, alert: 0 });
  });
});
