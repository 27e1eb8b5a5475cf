import { readdir } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { migrate, migrationsFolder, uuidV7Floor } from "@waymark/database";
import { useDatabase, useEmptyDatabase } from "@waymark/testing";
import pg from "pg";
import { createTestLog, makeFailedTrace } from "../worker.fixture.js";
import { createPurgeExpired } from "./purge-expired.job.js";

const database = useDatabase();
const dayMs = 24 * 3_600_000;

const purgeAt = (at: string, pool = database.pool) =>
  createPurgeExpired({ pool, log: createTestLog().log, now: () => new Date(at), isStopping: () => false })();

const weeksOf = async (pool: pg.Pool) => {
  const { rows } = await pool.query("SELECT name FROM span_partition ORDER BY first NULLS FIRST, name");
  return rows.map(({ name }) => name);
};

/** A trace received at a time, with one span; returns its id. */
async function addTrace(pool: pg.Pool, accountId: string, at: string, last = "1") {
  const id = `${uuidV7Floor(Date.parse(at)).slice(0, -1)}${last}`;
  const values = [accountId, id];
  await pool.query(
    "INSERT INTO trace (account_id, id, agent_id, name, status, started_at) VALUES ($1, $2, 'a', 'n', 'success', now())",
    values,
  );
  await pool.query(
    "INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $2, 's', 'ok', now())",
    values,
  );
  return id;
}

async function partitionOf(pool: pg.Pool, traceId: string): Promise<string | undefined> {
  const { rows } = await pool.query("SELECT tableoid::regclass::text AS name FROM span WHERE trace_id = $1", [traceId]);
  return rows[0]?.name;
}

const hasTrace = async (id: string) => (await database.pool.query("SELECT FROM trace WHERE id = $1", [id])).rowCount;

describe("weeks of spans", () => {
  const mondays = (from: string, count: number) =>
    Array.from({ length: count }, (_, week) =>
      new Date(Date.parse(from) + week * 7 * dayMs).toISOString().slice(0, 10).replaceAll("-", ""),
    );

  it("are made two ahead, also those of a pause, and take their spans out of the default partition", async () => {
    const { accountId } = await makeFailedTrace(database.pool);
    const inPause = await addTrace(database.pool, accountId, "2030-01-02T00:00:00Z");
    expect(await partitionOf(database.pool, inPause)).toBe("span_default");
    await purgeAt("2030-01-09T12:00:00Z");
    expect(await partitionOf(database.pool, inPause)).toBe("span_20291231");
    // The weeks of 90 days, this one and the next two; former ones are past every plan's retention.
    const weeks = mondays("2029-10-08", 16).map((day) => `span_${day}`);
    expect(await weeksOf(database.pool)).toEqual(["span_default", ...weeks]);
  });

  it("go whole when every plan's retention is over, and Free's spans one by one before that", async () => {
    const pro = await makeFailedTrace(database.pool, { plan: "pro" });
    const free = await makeFailedTrace(database.pool, { plan: "free" });
    await purgeAt("2030-01-09T12:00:00Z");
    // A Wednesday.
    const ofPro = await addTrace(database.pool, pro.accountId, "2030-01-09T00:00:00Z", "2");
    const ofFree = await addTrace(database.pool, free.accountId, "2030-01-09T00:00:00Z", "3");
    await purgeAt("2030-02-07T23:00:00Z");
    expect(await partitionOf(database.pool, ofFree)).toBe("span_20300107");
    await purgeAt("2030-02-08T01:00:00Z");
    expect(await partitionOf(database.pool, ofFree)).toBeUndefined();
    await purgeAt("2030-04-08T23:00:00Z");
    expect(await hasTrace(ofPro)).toBe(1);
    await purgeAt("2030-04-13T23:00:00Z");
    expect(await hasTrace(ofPro)).toBe(0);
    expect(await partitionOf(database.pool, ofPro)).toBe("span_20300107");
    await purgeAt("2030-04-14T01:00:00Z");
    expect(await weeksOf(database.pool)).not.toContain("span_20300107");
  });

  it("in use are dropped by a later round, and the rest of the round goes on", async () => {
    await purgeAt("2031-01-08T00:00:00Z");
    const [, oldest = ""] = await weeksOf(database.pool);
    const reader = await database.pool.connect();
    try {
      await reader.query("BEGIN");
      await reader.query(`SELECT FROM ${oldest}`);
      await purgeAt("2031-12-31T00:00:00Z");
      expect(await weeksOf(database.pool)).toContain(oldest);
    } finally {
      reader.release(true);
    }
    await purgeAt("2031-12-31T00:00:00Z");
    expect(await weeksOf(database.pool)).not.toContain(oldest);
  });
});

describe("the migration to weeks", () => {
  const old = useEmptyDatabase();

  it("keeps all spans where they are, while others write, and takes new ones into weeks from its bound on", async () => {
    const names = (await readdir(migrationsFolder)).filter((name) => /^\d/.test(name)).sort();
    const before = names.filter((name) => name < "20261123015312");
    await migrate(old.url, { only: before });
    const pool = new pg.Pool({ connectionString: old.url, max: 2, options: "-c TimeZone=UTC" });
    try {
      const accountId = uuidV7Floor(1);
      const now = Date.now();
      const first = await addTrace(pool, accountId, new Date(now - 100 * dayMs).toISOString());
      await migrate(old.url, { only: names.filter((name) => name < "20261123015314") });
      const second = await addTrace(pool, accountId, new Date(now).toISOString());
      const [{ file }] = (await pool.query("SELECT pg_relation_filepath('span') AS file")).rows;
      await migrate(old.url);
      const { rows } = await pool.query("SELECT pg_relation_filepath('span_before') AS file");
      expect(rows).toEqual([{ file }]);
      expect(await partitionOf(pool, first)).toBe("span_before");
      expect(await partitionOf(pool, second)).toBe("span_before");
      const { rows: bounds } = await pool.query("SELECT until FROM span_partition WHERE name = 'span_before'");
      const until = Number.parseInt(bounds[0].until.replaceAll("-", "").slice(0, 12), 16);
      expect(until).toBeGreaterThan(now + 14 * dayMs);
      expect(until).toBeLessThanOrEqual(now + 21 * dayMs);
      expect(new Date(until).getUTCDay()).toBe(1);
      expect(await weeksOf(pool)).toEqual(["span_before", "span_default"]);
      const run = createPurgeExpired({
        pool,
        log: createTestLog().log,
        now: () => new Date(until),
        isStopping: () => false,
      });
      await run();
      const third = await addTrace(pool, accountId, new Date(until).toISOString());
      expect(await partitionOf(pool, third)).toBe(
        `span_${new Date(until).toISOString().slice(0, 10).replaceAll("-", "")}`,
      );
      const { rows: checks } = await pool.query("SELECT FROM pg_constraint WHERE conname = 'span_week'");
      expect(checks).toEqual([]);
    } finally {
      await pool.end();
    }
  });
});
