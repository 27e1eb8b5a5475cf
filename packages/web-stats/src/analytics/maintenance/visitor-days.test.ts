import { describe, expect, it } from "@jest/globals";
import { randomRuns, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import type pg from "pg";
import { useAnalytics } from "../analytics.fixture.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { keepVisitorDays } from "./event-retention.query.js";

const analytics = useAnalytics();
const day = "2026-05-01";

const partitionsOf = async (pool: pg.Pool) => {
  const { rows } = await pool.query("SELECT name FROM visitor_partition ORDER BY first NULLS FIRST, name");
  return rows.map(({ name }) => name);
};

/** Days from the database's today on, as in the names of partitions. */
async function nameOf(pool: pg.Pool, offset: number): Promise<string> {
  const { rows } = await pool.query(
    "SELECT 'daily_visitor_' || to_char((now() AT TIME ZONE 'UTC')::date + $1::int, 'YYYYMMDD') AS name",
    [offset],
  );
  return rows[0].name;
}

const countVisitors = async (siteId: string) => {
  const { rows } = await analytics.pool.query("SELECT count(*)::int AS n FROM daily_visitor WHERE site_id = $1", [
    siteId,
  ]);
  return rows[0].n;
};

const addVisitor = (pool: pg.Pool, siteId: string, offset: number) =>
  pool.query(
    `INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
     VALUES ($1, (now() AT TIME ZONE 'UTC')::date + $2::int, 1, '{1}', now(), $1, '/')`,
    [siteId, offset],
  );

describe("days of visitors", () => {
  it("have partitions from today on, with the rows that came before their partition", async () => {
    const { pool } = analytics;
    const site = await makeSite(pool);
    const tomorrow = await nameOf(pool, 1);
    await pool.query("SELECT drop_visitor_partition($1)", [tomorrow]);
    await addVisitor(pool, site.id, 1);
    await keepVisitorDays(pool);
    const days = await Promise.all([0, 1, 2, 3].map((offset) => nameOf(pool, offset)));
    expect(await partitionsOf(pool)).toEqual(["daily_visitor_default", ...days]);
    const { rows } = await pool.query("SELECT tableoid::regclass::text AS name FROM daily_visitor WHERE site_id = $1", [
      site.id,
    ]);
    expect(rows).toEqual([{ name: tomorrow }]);
  });

  it("are dropped after three days, and no sooner", async () => {
    const { pool } = analytics;
    const [kept, past] = [await nameOf(pool, -3), await nameOf(pool, -4)];
    for (const offset of [3, 4]) {
      await pool.query("SELECT ensure_visitor_partition((now() AT TIME ZONE 'UTC')::date - $1::int)", [offset]);
    }
    expect(await keepVisitorDays(pool)).toEqual([past]);
    const left = await partitionsOf(pool);
    expect(left).toContain(kept);
    expect(left).not.toContain(past);
    await pool.query("SELECT drop_visitor_partition($1)", [kept]);
  });

  it("wait for a writer until a later round, and so do rows without a partition", async () => {
    const { pool } = analytics;
    const site = await makeSite(pool);
    const past = await nameOf(pool, -4);
    await pool.query("SELECT ensure_visitor_partition((now() AT TIME ZONE 'UTC')::date - 4)");
    const writer = await pool.connect();
    try {
      await writer.query("BEGIN");
      await writer.query(
        `INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
         VALUES ($1, '2020-01-01', 1, '{1}', now(), $1, '/')`,
        [site.id],
      );
      await writer.query(`SELECT FROM ${past}`);
      expect(await keepVisitorDays(pool)).toEqual([]);
      await writer.query("COMMIT");
    } finally {
      writer.release();
    }
    expect(await countVisitors(site.id)).toBe(1);
    expect(await keepVisitorDays(pool)).toEqual([past]);
    expect(await countVisitors(site.id)).toBe(0);
  });

  it("keep rows without a partition while one of them is of a day to keep", async () => {
    const { pool } = analytics;
    const site = await makeSite(pool);
    await addVisitor(pool, site.id, 30);
    await addVisitor(pool, site.id, -30);
    await keepVisitorDays(pool);
    expect(await countVisitors(site.id)).toBe(2);
    await pool.query("DELETE FROM daily_visitor WHERE site_id = $1 AND day > now()", [site.id]);
    await keepVisitorDays(pool);
    expect(await countVisitors(site.id)).toBe(0);
  });
});

describe("an import into a day whose visitors were dropped", () => {
  it("counts nobody twice, wherever the drop comes", async () => {
    const line = fc.record({
      hour: fc.integer({ min: 0, max: 23 }),
      second: fc.integer({ min: 0, max: 3 }),
      path: fc.constantFrom("/", "/a", "/b"),
      visitor: fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined }),
      isEvent: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 6 }), { minLength: 1, maxLength: 4 }), async (files) => {
        const site = await makeSite(analytics.pool);
        for (const file of files) {
          await analytics.load(
            site,
            file.map(({ hour, second, isEvent, ...rest }) => ({
              ...rest,
              ts: `${day}T${String(hour).padStart(2, "0")}:00:0${second}Z`,
              ...(isEvent && { type: "event", name: "signup" }),
            })),
          );
          await keepVisitorDays(analytics.pool);
          expect(await countVisitors(site.id)).toBe(0);
        }
        expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
        expect((await analytics.rebuild(site.id)).found).toEqual([]);
      }),
      randomRuns(5),
    );
  });

  it("makes the same rows as they were", async () => {
    const site = await makeSite(analytics.pool);
    const rowsSql = `SELECT visitor, ARRAY(SELECT unnest(seen) ORDER BY 1) AS seen, entry_at, entry_id, entry_path
      FROM daily_visitor WHERE site_id = $1 ORDER BY visitor`;
    const read = async () => (await analytics.pool.query(rowsSql, [site.id])).rows;
    const lines = ["/a", "/b", "/c"].flatMap((path, n) => [
      { ts: `${day}T0${3 - n}:00:00Z`, path, visitor: "1", country: "DE" },
      { ts: `${day}T0${4 - n}:00:00Z`, path, visitor: "2", referrer: "https://www.google.com/" },
    ]);
    await analytics.load(site, lines);
    const before = await read();
    expect(before).toHaveLength(2);
    await keepVisitorDays(analytics.pool);
    expect(await read()).toEqual([]);
    await analytics.load(site, lines);
    expect(await read()).toEqual(before);
  });
});

describe("visitors from before days", () => {
  const { pool } = useDatabase();

  it("stay in their partition, and get no further one up to its bound", async () => {
    for (const name of await partitionsOf(pool)) {
      if (name !== "daily_visitor_default") await pool.query("SELECT drop_visitor_partition($1)", [name]);
    }
    await pool.query("CREATE TABLE daily_visitor_before (LIKE daily_visitor INCLUDING ALL)");
    const { rows: bounds } = await pool.query("SELECT ((now() AT TIME ZONE 'UTC')::date + 2)::text AS until");
    const values = `FROM (MINVALUE) TO ('${bounds[0].until}')`;
    await pool.query(`ALTER TABLE daily_visitor ATTACH PARTITION daily_visitor_before FOR VALUES ${values}`);
    const site = await makeSite(pool);
    for (const offset of [-400, 0]) await addVisitor(pool, site.id, offset);
    await keepVisitorDays(pool);
    const later = await Promise.all([2, 3].map((offset) => nameOf(pool, offset)));
    expect(await partitionsOf(pool)).toEqual(["daily_visitor_before", "daily_visitor_default", ...later]);
    const { rows } = await pool.query("SELECT tableoid::regclass::text AS name FROM daily_visitor");
    expect(rows).toEqual([{ name: "daily_visitor_before" }, { name: "daily_visitor_before" }]);
  });
});
