import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { importEvents } from "../import/import-events.js";
import type { ImportOptions } from "../import/reader-services.js";
import { readRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { holdHorizon, purgeEvents, readHorizon } from "./event-retention.query.js";
import { rebuildRollups } from "./rebuild-rollups.js";

const database = useDatabase();

function load(site: { id: string; domain: string }, lines: readonly object[], options: Partial<ImportOptions> = {}) {
  const input = async function* () {
    yield Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  return importEvents({ pool: database.directPool, site, input: input(), ...options });
}

describe("the retention of raw events", () => {
  it("drops whole months, keeps later ones, and leaves the rollups", async () => {
    const site = await makeSite(database.pool);
    const { id } = site;
    const days = ["1980-05-01", "2026-02-28", "2026-03-01", "2026-04-30"];
    await load(
      site,
      days.map((day) => ({ ts: `${day}T23:00:00Z`, path: "/", visitor: "1" })),
    );
    const before = await readRollups(database.pool, id);
    const purged = await purgeEvents(database.pool, { firstMonth: "2026-03-01" });
    expect(purged).toEqual({ partitions: ["event_202602"], rows: 3 });
    const visits = await database.pool.query("SELECT day::text FROM visit WHERE site_id = $1 ORDER BY day", [id]);
    expect(visits.rows).toEqual([{ day: "2026-03-01" }, { day: "2026-04-30" }]);
    const { rows } = await database.pool.query("SELECT at FROM event WHERE site_id = $1 ORDER BY at", [id]);
    expect(rows.map(({ at }) => at.toISOString())).toEqual(["2026-03-01T23:00:00.000Z", "2026-04-30T23:00:00.000Z"]);
    expect(await readRollups(database.pool, id)).toEqual(before);
    expect(await purgeEvents(database.pool, { firstMonth: "2026-03-01" })).toEqual({ partitions: [], rows: 0 });
  });

  it("counts a file once that is imported again after its month is gone, and names the lines' reason", async () => {
    const site = await makeSite(database.pool);
    const lines = Array.from({ length: 100 }, (_, n) => ({
      ts: "2026-03-15T12:00:00Z",
      path: `/${n}`,
      visitor: `${n % 41}`,
    }));
    expect(await load(site, lines)).toMatchObject({ imported: 100 });
    await purgeEvents(database.pool, { firstMonth: "2026-04-01" });
    const before = await readRollups(database.pool, site.id);
    expect(before.stats["2026-03-15 total "]).toEqual([41, 100]);
    const problems: string[] = [];
    const onReject = ({ line, problem }: { line: number; problem: string }) => void problems.push(`${line} ${problem}`);
    const again = [...lines, { ts: "2026-04-01T00:00:00Z", path: "/", visitor: "1" }];
    expect(await load(site, again, { onReject })).toEqual({
      imported: 1,
      rejected: 100,
      duplicates: 0,
      bots: 0,
      machines: 0,
    });
    expect(problems).toHaveLength(100);
    expect(problems[0]).toBe(
      "1 ts: Must not lie before 2026-04-01. Older raw events were removed (EVENT_RETENTION_MONTHS), so nobody can tell whether this one is counted already",
    );
    const after = await readRollups(database.pool, site.id);
    expect(after.stats["2026-03-15 total "]).toEqual([41, 100]);
    expect(after.stats["2026-04-01 total "]).toEqual([1, 1]);
  });

  it("keeps the figures of a day before the horizon when one late line is left and rollups are rebuilt", async () => {
    const site = await makeSite(database.pool);
    await load(site, [{ ts: "2026-05-15T12:00:00Z", path: "/a", visitor: "1" }]);
    await purgeEvents(database.pool, { firstMonth: "2026-06-01" });
    const before = await readRollups(database.pool, site.id);
    // As an older version took it.
    await database.pool.query(
      `INSERT INTO event (site_id, id, at, type, visitor, path, channel)
       VALUES ($1, uuid_floor('2026-05-15T13:00:00Z'), '2026-05-15T13:00:00Z', 'pageview', 1, '/late', 'Direct')`,
      [site.id],
    );
    const options = { pool: database.pool, siteId: site.id, from: null, to: null, onDifference: () => undefined };
    expect(await rebuildRollups({ ...options, replace: true })).toEqual({ days: 0, differences: 0, skipped: 1 });
    expect(await readRollups(database.pool, site.id)).toEqual(before);
  });

  it("has a horizon that never goes back", async () => {
    await purgeEvents(database.pool, { firstMonth: "2026-06-01" });
    await purgeEvents(database.pool, { firstMonth: "2025-01-01" });
    expect(await readHorizon(database.pool)).toBe("2026-06-01");
  });

  it("removes nothing while a batch of an import is under way that knows the horizon before", async () => {
    const other = await database.pool.connect();
    await other.query("BEGIN");
    const held = await holdHorizon(other);
    await database.pool.query("SELECT ensure_event_partition('2026-06-01')");
    expect(await purgeEvents(database.pool, { firstMonth: "2026-07-01" })).toEqual({ partitions: [], rows: 0 });
    expect(await readHorizon(database.pool)).toBe(held);
    await other.query("COMMIT");
    other.release();
    expect(await purgeEvents(database.pool, { firstMonth: "2026-07-01" })).toMatchObject({
      partitions: ["event_202606"],
    });
  });

  it("leaves a month that is in use to the next round", async () => {
    await database.pool.query("SELECT ensure_event_partition('2025-01-01')");
    const reader = await database.pool.connect();
    await reader.query("BEGIN");
    await reader.query("SELECT count(*) FROM event_202501");
    expect(await purgeEvents(database.pool, { firstMonth: "2025-02-01" })).toMatchObject({ partitions: [] });
    await reader.query("COMMIT");
    reader.release();
    expect(await purgeEvents(database.pool, { firstMonth: "2025-02-01" })).toMatchObject({
      partitions: ["event_202501"],
    });
  });
});
