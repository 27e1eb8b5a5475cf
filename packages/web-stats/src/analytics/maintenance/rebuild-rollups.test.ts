import { describe, expect, it } from "@jest/globals";
import { createUuidV7, inTransaction, withConnection } from "@waymark/database";
import { browsers, useAnalytics } from "../analytics.fixture.js";
import { recordEvents, recordLockedEvents } from "../recording/record-events.js";
import { lockSites } from "../recording/record-events.query.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { readVisitFigures, recountVisitFigures } from "../recording/recount-visits.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import type { SiteEvent } from "../recording/site-event.js";
import { view } from "../recording/view.fixture.js";
import { RebuildRunningError } from "./rebuild-rollups.js";
import { countDay, dropMends, lockRebuild, unlockRebuild } from "./rebuild-rollups.query.js";

const analytics = useAnalytics();
const day = "2026-05-01";

const eventOf = (siteId: string): SiteEvent => ({
  ...view,
  siteId,
  id: createUuidV7(() => Date.parse(`${day}T12:00:00Z`))(),
  visitor: "77",
  path: "/a",
});

const waitingLocks = `SELECT count(*)::int AS n FROM pg_locks JOIN pg_database AS own ON own.oid = database
  WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;

async function until(sql: string, n: number): Promise<void> {
  while ((await analytics.pool.query(sql)).rows[0].n !== n) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("a rebuild", () => {
  const lines = [
    { ts: `${day}T01:00:00Z`, path: "/a", visitor: "1", country: "DE" },
    { ts: `${day}T02:00:00Z`, path: "/b", visitor: "1" },
    { ts: `${day}T03:00:00Z`, path: "/b", visitor: "2", user_agent: browsers[0] },
    { ts: `${day}T04:00:00Z`, type: "event", name: "signup", props: { plan: "pro" } },
  ];

  it("reports what differs, and mends it only when asked to", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    const right = await readRollups(analytics.pool, site.id);
    const change = (sql: string) => analytics.pool.query(sql, [site.id]);
    await change("UPDATE daily_stat SET visitors = 7 WHERE site_id = $1 AND dimension = 'total'");
    await change("DELETE FROM daily_stat WHERE site_id = $1 AND dimension = 'page' AND value = '/a'");
    await change("INSERT INTO daily_event SELECT $1, '2026-05-01', 'ghost', '', '', 1");
    const { found } = await analytics.rebuild(site.id);
    expect(found).toEqual([
      { siteId: site.id, day, what: "event ghost  ", stored: [1], counted: null },
      { siteId: site.id, day, what: "page /a", stored: null, counted: [1, 1] },
      { siteId: site.id, day, what: "total ", stored: [7, 3], counted: [2, 3] },
      { siteId: site.id, day, what: "visits page /a", stored: null, counted: [1, 1, 0, 1, 0, 0] },
    ]);
    expect((await readRollups(analytics.pool, site.id)).stats["2026-05-01 total "]).toEqual([7, 3]);
    await analytics.rebuild(site.id, true);
    expect(await readRollups(analytics.pool, site.id)).toEqual(right);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("leaves dimensions of a newer version alone", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    const change = (sql: string) => analytics.pool.query(sql, [site.id]);
    await change("INSERT INTO daily_stat SELECT $1, 'language', '2026-05-01', 'de', 1, 2");
    await change(`INSERT INTO daily_size (site_id, day, dimension, "values") SELECT $1, '2026-05-01', 'language', 7`);
    await change("UPDATE daily_visitor SET seen = seen || seen_hash('language', 'de') WHERE site_id = $1");
    const seenSql =
      "SELECT count(*)::int AS n FROM daily_visitor WHERE seen @> ARRAY[seen_hash($2, $3)] AND site_id = $1";
    const sizeSql = `SELECT "values" FROM daily_size WHERE site_id = $1 AND dimension = 'language'`;
    const right = await readRollups(analytics.pool, site.id);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
    await change("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1 AND dimension = 'total'");
    await change("UPDATE daily_visitor SET seen = seen || 4711::bigint WHERE site_id = $1");
    expect((await analytics.rebuild(site.id, true)).found.map(({ what }) => what)).toEqual(["total "]);
    expect(await readRollups(analytics.pool, site.id)).toEqual(right);
    expect((await analytics.pool.query(seenSql, [site.id, "language", "de"])).rows).toEqual([{ n: 2 }]);
    expect((await change(sizeSql)).rows).toEqual([{ values: 7 }]);
    const { rows } = await change("SELECT FROM daily_visitor WHERE seen @> ARRAY[4711::bigint] AND site_id = $1");
    expect(rows).toEqual([]);
  });

  it("reads the rows of unknown dimensions once, and not again for each visitor", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    await analytics.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    const plans: string[] = [];
    await withConnection(analytics.directPool, async (client) => {
      const note = ({ message = "" }: { message?: string | undefined }) => void plans.push(message);
      client.on("notice", note);
      await client.query("LOAD 'auto_explain'");
      await inTransaction(client, async () => {
        await client.query(`SET LOCAL auto_explain.log_min_duration = 0; SET LOCAL auto_explain.log_analyze = on;
          SET LOCAL auto_explain.log_level = notice`);
        await countDay(client, { siteId: site.id, day }, { isWholeSite: false, replace: true });
      });
      client.off("notice", note);
      await dropMends(client);
    });
    const plan = plans.find((each) => each.includes("CREATE TEMP TABLE mend_visitor")) ?? "";
    const loops = [...plan.matchAll(/Scan.* (?:on|using) daily_stat.*loops=(\d+)/g)].map(([, n]) => n);
    expect(new Set(loops)).toEqual(new Set(["1"]));
  });

  it("leaves writers what they need to go on counting right", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    await analytics.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    await analytics.rebuild(site.id, true);
    await analytics.load(site, [{ ts: `${day}T00:30:00Z`, path: "/b", visitor: "1", country: "DE" }]);
    expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
  });

  it("neither waits for the site's lock nor keeps it while it counts, and mends what was recorded meanwhile too", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    await analytics.pool.query("UPDATE daily_stat SET visitors = 9, pageviews = 9 WHERE site_id = $1", [site.id]);
    const writer = await analytics.pool.connect();
    await writer.query("BEGIN");
    await lockSites(writer, [site.id]);
    expect((await analytics.rebuild(site.id)).found.length).toBeGreaterThan(0);
    const mended = analytics.rebuild(site.id, true);
    // A rebuild that waits for the lock has finished its count, so it misses an event recorded now.
    await until(waitingLocks, 1);
    await recordLockedEvents(writer, [eventOf(site.id)]);
    await writer.query("COMMIT");
    writer.release();
    expect((await mended).differences).toBeGreaterThan(0);
    expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("counts anew when a visitor that it mends came again meanwhile", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    await analytics.pool.query("DELETE FROM daily_visitor WHERE site_id = $1", [site.id]);
    await analytics.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    const writer = await analytics.pool.connect();
    await writer.query("BEGIN");
    await lockSites(writer, [site.id]);
    const mended = analytics.rebuild(site.id, true);
    await until(waitingLocks, 1);
    const { rows } = await writer.query("SELECT visitor::text FROM event WHERE site_id = $1 AND path = '/a'", [
      site.id,
    ]);
    await recordLockedEvents(writer, [{ ...eventOf(site.id), visitor: rows[0].visitor }]);
    await writer.query("COMMIT");
    writer.release();
    await mended;
    expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("gives the figures of a recount while events go on coming, whatever was wrong before", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    const recorder = analytics.openRecorder(() => Date.parse(`${day}T12:00:00Z`));
    for (let round = 0; round < 5; round++) {
      await analytics.pool.query(
        `UPDATE daily_stat SET visitors = visitors + 3, pageviews = pageviews + 2 WHERE site_id = $1 AND dimension <> 'os'`,
        [site.id],
      );
      if (round % 2) await analytics.pool.query("UPDATE daily_visitor SET seen = '{}' WHERE site_id = $1", [site.id]);
      const live = Array.from({ length: 60 }, (_, n) =>
        recorder.record({
          name: n % 4 === 0 ? "signup" : "pageview",
          url: new URL(`https://${site.domain}/${n % 5}`),
          isHashPath: false,
          domains: [site.domain],
          referrer: null,
          props: n % 4 === 0 ? { n } : null,
          ip: `192.0.2.${n % 9}`,
          userAgent: browsers[0] ?? "",
          country: null,
        }),
      );
      await Promise.all([analytics.rebuild(site.id, true), ...live]);
    }
    await analytics.rebuild(site.id, true);
    expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
  });

  it("counts the visits of an installation from before them, while events come", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    const older = [
      "DELETE FROM visit WHERE site_id = $1",
      `UPDATE daily_visitor SET seen = ARRAY(SELECT unnest(seen) EXCEPT
         SELECT seen_hash(dimension, value) FROM daily_stat WHERE site_id = $1 AND dimension IN ('hour', 'host'))
       WHERE site_id = $1`,
      "DELETE FROM daily_stat WHERE site_id = $1 AND dimension IN ('hour', 'host', 'exit', 'visit_entry')",
      "DELETE FROM daily_stat WHERE site_id = $1 AND (visitors, pageviews) = (0, 0)",
      "UPDATE daily_stat SET visits = 0, bounces = 0, visit_us = 0, visit_views = 0, events = 0 WHERE site_id = $1",
      "DELETE FROM daily_size WHERE site_id = $1 AND dimension IN ('hour', 'host', 'exit', 'visit_entry')",
    ];
    for (const sql of older) await analytics.pool.query(sql, [site.id]);
    // Within the visit of a visitor that the database knows without it.
    await analytics.load(site, [{ ts: `${day}T01:10:00Z`, path: "/c", visitor: "1", country: "FR" }]);
    const recorder = analytics.openRecorder(() => Date.parse(`${day}T12:00:00Z`));
    const live = Array.from({ length: 40 }, (_, n) =>
      recorder.record({
        name: n % 4 === 0 ? "signup" : "pageview",
        isHashPath: false,
        domains: [site.domain],
        referrer: null,
        url: new URL(`https://${site.domain}/${n % 5}`),
        props: null,
        country: null,
        ip: `192.0.2.${n % 3}`,
        userAgent: browsers[0] ?? "",
      }),
    );
    await Promise.all([analytics.rebuild(site.id, true), ...live]);
    expect(await readVisitFigures(analytics.pool, site.id)).toEqual(await recountVisitFigures(analytics.pool, site.id));
    expect(await readRollups(analytics.pool, site.id)).toEqual(await recountRollups(analytics.pool, site.id));
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("runs once for a site at a time", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    const other = await analytics.directPool.connect();
    expect(await lockRebuild(other, site.id)).toBe(true);
    await expect(analytics.rebuild(site.id, true)).rejects.toThrow(RebuildRunningError);
    expect((await analytics.rebuild(site.id)).days).toBe(1);
    await unlockRebuild(other, site.id);
    other.release();
    expect((await analytics.rebuild(site.id, true)).days).toBe(1);
  });

  it("sees the events of 1970-01-01, and those whose ids a wrong clock made", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, [{ ts: "1970-01-01T00:00:00Z", path: "/old", visitor: "1" }, ...lines]);
    const ahead = { ...eventOf(site.id), id: createUuidV7(() => Date.parse("2031-01-01T00:00:00Z"))() };
    const client = await analytics.pool.connect();
    await inTransaction(client, () => recordEvents(client, [ahead]));
    client.release();
    const right = await readRollups(analytics.pool, site.id);
    expect(await analytics.rebuild(site.id, true)).toMatchObject({ days: 2, differences: 0 });
    expect(await readRollups(analytics.pool, site.id)).toEqual(right);
    expect(right.stats["1970-01-01 total "]).toEqual([1, 1]);
    expect(await analytics.exportText(site.id)).toContain('"path":"/old"');
  });

  it("keeps the rollups of days whose events are past their retention", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, lines);
    await analytics.pool.query("DELETE FROM event WHERE site_id = $1", [site.id]);
    const before = await readRollups(analytics.pool, site.id);
    expect(await analytics.rebuild(site.id, true)).toMatchObject({ days: 0, skipped: 1, differences: 0 });
    expect(await readRollups(analytics.pool, site.id)).toEqual(before);
  });

  it("counts the first day of 1970 anew from its events as every other day", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, [
      { ts: "1970-01-01T00:00:00Z", path: "/" },
      { ts: "1970-01-01T23:59:59Z", path: "/" },
    ]);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
    const { rows } = await analytics.pool.query(
      "SELECT pageviews FROM daily_stat WHERE site_id = $1 AND day = '1970-01-01' AND dimension = 'total'",
      [site.id],
    );
    expect(rows).toEqual([{ pageviews: 2 }]);
  });
});
