import { describe, expect, it } from "@jest/globals";
import { uuidV7Floor } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
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

describe("spans from before weeks", () => {
  const { pool } = useDatabase();

  it("stay in their partition, and new ones go into weeks from its bound on", async () => {
    const until = Date.UTC(2030, 0, 21);
    for (const name of await weeksOf(pool)) if (name !== "span_default") await pool.query(`DROP TABLE ${name}`);
    await pool.query("CREATE TABLE span_before (LIKE span INCLUDING ALL)");
    const bounds = `FROM (MINVALUE) TO ('${uuidV7Floor(until)}')`;
    await pool.query(`ALTER TABLE span ATTACH PARTITION span_before FOR VALUES ${bounds}`);
    const { accountId } = await makeFailedTrace(pool, { plan: "pro" });
    const old = await addTrace(pool, accountId, "2029-12-31T00:00:00Z");
    await purgeAt("2030-01-07T00:00:00Z", pool);
    expect(await weeksOf(pool)).toEqual(["span_before", "span_default", "span_20300121"]);
    const late = await addTrace(pool, accountId, new Date(until).toISOString());
    expect([await partitionOf(pool, old), await partitionOf(pool, late)]).toEqual(["span_before", "span_20300121"]);
  });
});
