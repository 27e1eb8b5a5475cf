import { describe, expect, it } from "@jest/globals";
import { byRole, createPool, grantRoles, roleUrl, uuidV7Floor } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import { createTestLog, makeFailedTrace, makeOldTrace } from "../worker.fixture.js";
import { createPurgeExpired } from "./purge-expired.job.js";

const database = useDatabase();
const prefix = useRolePrefix();
const dayMs = 24 * 3_600_000;

const purge = (isStopping = () => false, pool = database.pool) =>
  createPurgeExpired({ pool, log: createTestLog().log, now: () => new Date(), isStopping })();

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
       SELECT $1, '01000000-0000-7000-8000-000000000000', gen_random_uuid(), 's', 'ok', now() FROM generate_series(1, 12500)`,
      [accountId],
    );
    expect((await purge()).span).toBeGreaterThanOrEqual(12_500);
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

  it("removes log records that have waited a day for their span, or completed it a day ago", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "pro" });
    await database.pool.query(
      `INSERT INTO span_log (account_id, otel_trace_id, span_id, id, nanos, place, name, has_content, event, bytes, is_used, since)
       SELECT $1, decode(repeat('01', 16), 'hex'), decode(repeat('02', 8), 'hex'), gen_random_uuid(), 1, 1,
         CASE WHEN hours < 24 THEN 'young' ELSE 'old' END, false, '{}', 300, is_used, now() - make_interval(hours => hours)
       FROM unnest(ARRAY[23, 25]) AS hours, unnest(ARRAY[true, false]) AS is_used`,
      [accountId],
    );
    await purge();
    const { rows } = await database.pool.query("SELECT name FROM span_log WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ name: "young" }, { name: "young" }]);
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

  it("removes sessions and links when their time is over, used or not, and no sooner, over several batches", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    const { pool } = database;
    await pool.query("INSERT INTO person (id, email, name) VALUES ($1, 'ada@example.com', 'Ada')", [accountId]);
    await pool.query("INSERT INTO membership (account_id, person_id, role) VALUES ($1, $1, 'owner')", [accountId]);
    await pool.query(
      `INSERT INTO session (id, token, person_id, account_id, expires_at)
       SELECT gen_random_uuid(), n, $1, $1, now() - interval '1 minute' * n FROM generate_series(-1, 1500) AS n`,
      [accountId],
    );
    await pool.query(
      `INSERT INTO one_time_link (hash, id, purpose, email, used_at, expires_at)
       SELECT sha256(n::text::bytea), gen_random_uuid(), 'verify', 'ada@example.com',
         CASE WHEN n % 2 = 0 THEN now() END, now() - interval '1 minute' * n FROM generate_series(-1, 1500) AS n`,
    );
    const left = "SELECT (SELECT count(*) FROM session)::int AS s, (SELECT count(*) FROM one_time_link)::int AS l";
    await purge();
    expect((await pool.query(left)).rows).toEqual([{ s: 1, l: 1 }]);
  });

  it("forgets events of Stripe after 30 days, and no sooner", async () => {
    await database.pool.query(
      `INSERT INTO stripe_event (id, received_at)
       VALUES ('old', now() - interval '30 days 1 minute'), ('young', now() - interval '29 days 23 hours')`,
    );
    await purge();
    expect((await database.pool.query("SELECT id FROM stripe_event")).rows).toEqual([{ id: "young" }]);
  });

  it("removes revoked keys after 90 days and all but the newest 1,000, and never a live one", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    const add = (name: string, count: number, revoked: string) =>
      database.pool.query(
        `INSERT INTO api_key (id, account_id, service, name, hash, hint, created_at, revoked_at)
         SELECT gen_random_uuid(), $1::uuid, 'trace', $2::text, sha256(($2::text || n || $1::uuid)::bytea), 'h', now() - interval '2 years',
           now() - ${revoked} FROM generate_series(1, $3::int) AS n`,
        [accountId, name, count],
      );
    const names = async () => {
      const sql = "SELECT name, count(*)::int AS keys FROM api_key WHERE account_id = $1 GROUP BY name ORDER BY name";
      return (await database.pool.query(sql, [accountId])).rows;
    };
    await add("live", 2, "NULL::interval");
    await add("old", 3, "interval '90 days 1 minute'");
    await add("young", 5, "interval '89 days 23 hours'");
    await purge();
    expect(await names()).toEqual([
      { name: "live", keys: 2 },
      { name: "young", keys: 5 },
    ]);
    await add("newest", 1_000, "interval '1 hour'");
    await purge();
    expect(await names()).toEqual([
      { name: "live", keys: 2 },
      { name: "newest", keys: 1_000 },
    ]);
  });

  it("removes ended keys as revoked ones, as the worker's role, and never one with an end to come", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    await database.pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $1, 'a.example', 's')", [
      accountId,
    ]);
    const add = (name: string, count: number, end: string) =>
      database.pool.query(
        `INSERT INTO api_key (id, account_id, service, name, hash, hint, site_id, expires_at)
         SELECT gen_random_uuid(), $1::uuid, 'share', $2::text, sha256(($2::text || n || $1::uuid)::bytea), 'h', $1::uuid,
           now() + ${end} FROM generate_series(1, $3::int) AS n`,
        [accountId, name, count],
      );
    const names = async () => {
      const sql = "SELECT name, count(*)::int AS keys FROM api_key WHERE account_id = $1 GROUP BY name ORDER BY name";
      return (await database.pool.query(sql, [accountId])).rows.map(({ name, keys }) => `${keys} ${name}`);
    };
    const passwords = byRole((role) => `password-of-${role}`);
    await grantRoles(database.url, passwords, prefix);
    const workerPool = createPool({
      connectionString: roleUrl(database.url, "worker", passwords.worker, prefix),
      maxConnections: 1,
      applicationName: "test",
      statementTimeoutMs: 10_000,
    });
    await add("endless", 1, "NULL::interval");
    await add("live", 1_100, "interval '1 hour'");
    await add("old", 3, "interval '-90 days -1 minute'");
    await add("young", 5, "interval '-89 days -23 hours'");
    await purge(undefined, workerPool);
    expect(await names()).toEqual(["1 endless", "1100 live", "5 young"]);
    await add("newest", 1_000, "interval '-1 hour'");
    await purge(undefined, workerPool);
    await workerPool.end();
    expect(await names()).toEqual(["1 endless", "1100 live", "1000 newest"]);
  });

  it("keeps the record of an account for a year, and its newest 100,000 entries", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    const other = await makeFailedTrace(database.pool);
    const add = (id: string, count: number, ageMs: number) =>
      database.pool.query(
        `INSERT INTO audit (account_id, id, action, subject)
         SELECT $1, (left($2, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'key_created', 'k' FROM generate_series(1, $3::int) AS n`,
        [id, uuidV7Floor(Date.now() - ageMs), count],
      );
    const entries = async (id: string) =>
      (await database.pool.query("SELECT FROM audit WHERE account_id = $1", [id])).rowCount;
    await add(accountId, 1_200, 365 * dayMs + 60_000);
    await add(accountId, 7, 365 * dayMs - 60_000);
    await add(other.accountId, 7, 365 * dayMs - 60_000);
    await purge();
    expect([await entries(accountId), await entries(other.accountId)]).toEqual([7, 7]);
    await add(accountId, 100_000, dayMs);
    await purge();
    expect([await entries(accountId), await entries(other.accountId)]).toEqual([100_000, 7]);
  });

  it("removes settled summaries of mails with the alerts that they listed", async () => {
    const { accountId } = await makeFailedTrace(database.pool, { plan: "free" });
    await database.pool.query(
      `INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, sent_at) VALUES
       ($1, '01000000-0000-7000-8000-000000000000', $1, 'digest', '', now()),
       ($1, '01000000-0000-7000-8000-000000000001', $1, 'digest', '', NULL)`,
      [accountId],
    );
    await purge();
    const { rows } = await database.pool.query("SELECT event_id AS id FROM delivery WHERE account_id = $1", [
      accountId,
    ]);
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
      "INSERT INTO trace_change (account_id, trace_id) SELECT $1, uuid_floor(to_timestamp(n)) FROM generate_series(1, 21500) AS n",
      [busy.accountId],
    );
    await makeOldTrace(database.pool, { accountId: quiet.accountId, ageMs: 40 * dayMs });
    const visited: string[] = [];
    const watched = Object.assign(Object.create(database.pool), {
      query: (statement: { name?: string; values?: unknown[] }, values?: unknown[]) => {
        const account = statement.name === "purge-trace_change" ? statement.values?.[0] : undefined;
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
    const { rows } = await database.pool.query("SELECT FROM trace_change WHERE account_id = $1", [busy.accountId]);
    expect(rows).toEqual([]);
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
