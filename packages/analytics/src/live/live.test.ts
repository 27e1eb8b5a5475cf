import { describe, expect, it } from "@jest/globals";
import { createPool, createUuidV7, inTransaction } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { exportEvents } from "../import/export-events.query.js";
import { importEvents } from "../import/import-events.js";
import { RebuildRunningError, rebuildRollups } from "../maintenance/rebuild-rollups.js";
import { type Difference, lockRebuild, unlockRebuild } from "../maintenance/rebuild-rollups.query.js";
import { eventRowCost, maxEventBytesPerDay, maxValuesPerDay } from "../recording/day-bounds.js";
import { recordEvents, recordLockedEvents } from "../recording/record-events.js";
import { lockSites } from "../recording/record-events.query.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import type { SiteEvent } from "../recording/site-event.js";
import { view } from "../recording/view.fixture.js";
import { createCollector } from "./collector.js";

const database = useDatabase();
const day = "2026-05-01";

async function* bytes(text: string) {
  yield Buffer.from(text);
}

const load = (site: { id: string; domain: string }, lines: readonly object[]) =>
  importEvents({
    pool: database.pool,
    site,
    input: bytes(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
    onReject: (rejection) => {
      throw new Error(JSON.stringify(rejection));
    },
  });

async function rebuild(siteId: string, replace = false) {
  const differences: Difference[] = [];
  const result = await rebuildRollups({
    pool: database.pool,
    siteId,
    from: null,
    to: null,
    replace,
    onDifference: (difference) => void differences.push(difference),
  });
  expect(result.differences).toBe(differences.length);
  return { ...result, found: differences };
}

async function exportText(siteId: string): Promise<string> {
  const parts: Buffer[] = [];
  for await (const { text } of exportEvents(database.pool, siteId)) parts.push(text);
  return Buffer.concat(parts).toString();
}

/** A page view of noon. */
const eventOf = (siteId: string): SiteEvent => ({
  ...view,
  siteId,
  id: createUuidV7(() => Date.parse(`${day}T12:00:00Z`))(),
  visitor: "77",
  path: "/a",
});

const waitingLocks = `SELECT count(*)::int AS n FROM pg_locks JOIN pg_database AS own ON own.oid = database
  WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;

/** Waits until a query counts so many. */
async function until(sql: string, n: number): Promise<void> {
  while ((await database.pool.query(sql)).rows[0].n !== n) await new Promise((resolve) => setTimeout(resolve, 20));
}

const browsers = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
];

/** One thing that happened, by whichever way it comes in. */
const happening = fc.record({
  way: fc.constantFrom("first", "second", "import"),
  minute: fc.integer({ min: 0, max: 3 * 24 * 60 - 1 }),
  person: fc.integer({ min: 1, max: 4 }),
  browser: fc.constantFrom(...browsers),
  path: fc.constantFrom("/", "/a", "/b"),
  query: fc.constantFrom("", "?utm_source=x&utm_medium=email", "?utm_campaign=y"),
  referrer: fc.constantFrom(null, "https://www.google.com/", "https://some-site.org/z"),
  name: fc.option(fc.constantFrom("signup", "__proto__")),
  props: fc.option(fc.dictionary(fc.constantFrom("plan", "seats"), fc.oneof(fc.integer(), fc.constant("pro")))),
});

describe("two collectors and an import at once", () => {
  it("give the figures of a naive recount, and a rebuild finds no difference", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
        const site = await makeSite(database.pool);
        let clock = 0;
        const collectors = { first: open(() => clock), second: open(() => clock) };
        const work: Promise<unknown>[] = [];
        const lines: object[] = [];
        for (const { way, minute, person, browser, path, query, referrer, name, props } of happenings) {
          const at = Date.parse(`${day}T00:00:00Z`) + minute * 60_000;
          const ip = `192.0.2.${person}`;
          const url = `https://${site.domain}${path}${query}`;
          if (way === "import") {
            const event = name === null ? {} : { type: "event", name, props };
            lines.push({ ts: new Date(at).toISOString(), url, referrer, ip, user_agent: browser, ...event });
            continue;
          }
          clock = at;
          work.push(
            collectors[way].collect({
              name: name ?? "pageview",
              url: new URL(url),
              isHashPath: false,
              domains: [site.domain],
              referrer,
              props,
              ip,
              userAgent: browser,
              country: null,
            }),
          );
        }
        await Promise.all([...work, load(site, lines)]);
        const rollups = await readRollups(database.pool, site.id);
        expect(rollups).toEqual(await recountRollups(database.pool, site.id));
        const counts = Object.entries(rollups.stats).filter(([key]) => key.includes(" total "));
        const views = happenings.filter(({ name }) => name === null).length;
        expect(counts.reduce((sum, [, [, pageviews]]) => sum + pageviews, 0)).toBe(views);
        expect((await rebuild(site.id)).found).toEqual([]);
      }),
      { numRuns: 25 },
    );
  }, 60_000);
});

function open(now: () => number) {
  return createCollector({ pool: database.pool, now });
}

describe("a rebuild", () => {
  const lines = [
    { ts: `${day}T01:00:00Z`, path: "/a", visitor: "1", country: "DE" },
    { ts: `${day}T02:00:00Z`, path: "/b", visitor: "1" },
    { ts: `${day}T03:00:00Z`, path: "/b", visitor: "2", user_agent: browsers[0] },
    { ts: `${day}T04:00:00Z`, type: "event", name: "signup", props: { plan: "pro" } },
  ];

  it("reports what differs, and mends it only when asked to", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    const right = await readRollups(database.pool, site.id);
    const change = (sql: string) => database.pool.query(sql, [site.id]);
    await change("UPDATE daily_stat SET visitors = 7 WHERE site_id = $1 AND dimension = 'total'");
    await change("DELETE FROM daily_stat WHERE site_id = $1 AND dimension = 'page' AND value = '/a'");
    await change("INSERT INTO daily_event SELECT $1, '2026-05-01', 'ghost', '', '', 1");
    const { found } = await rebuild(site.id);
    expect(found).toEqual([
      { siteId: site.id, day, what: "event ghost  ", stored: [1], counted: null },
      { siteId: site.id, day, what: "page /a", stored: null, counted: [1, 1] },
      { siteId: site.id, day, what: "total ", stored: [7, 3], counted: [2, 3] },
    ]);
    expect((await readRollups(database.pool, site.id)).stats["2026-05-01 total "]).toEqual([7, 3]);
    await rebuild(site.id, true);
    expect(await readRollups(database.pool, site.id)).toEqual(right);
    expect((await rebuild(site.id)).found).toEqual([]);
  });

  it("leaves writers what they need to go on counting right", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    await database.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    await rebuild(site.id, true);
    await load(site, [{ ts: `${day}T00:30:00Z`, path: "/b", visitor: "1", country: "DE" }]);
    expect(await readRollups(database.pool, site.id)).toEqual(await recountRollups(database.pool, site.id));
  });

  it("neither waits for the site's lock nor keeps it while it counts, and mends what was recorded meanwhile too", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    await database.pool.query("UPDATE daily_stat SET visitors = 9, pageviews = 9 WHERE site_id = $1", [site.id]);
    const writer = await database.pool.connect();
    await writer.query("BEGIN");
    await lockSites(writer, [site.id]);
    expect((await rebuild(site.id)).found.length).toBeGreaterThan(0);
    const mended = rebuild(site.id, true);
    // The count is over when the rebuild waits for the lock; an event that comes then is not in it.
    await until(waitingLocks, 1);
    await recordLockedEvents(writer, [eventOf(site.id)]);
    await writer.query("COMMIT");
    writer.release();
    expect((await mended).differences).toBeGreaterThan(0);
    expect(await readRollups(database.pool, site.id)).toEqual(await recountRollups(database.pool, site.id));
    expect((await rebuild(site.id)).found).toEqual([]);
  });

  it("counts anew when a visitor that it mends came again meanwhile", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    await database.pool.query("DELETE FROM daily_visitor WHERE site_id = $1", [site.id]);
    await database.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    const writer = await database.pool.connect();
    await writer.query("BEGIN");
    await lockSites(writer, [site.id]);
    const mended = rebuild(site.id, true);
    await until(waitingLocks, 1);
    const { rows } = await writer.query("SELECT visitor::text FROM event WHERE site_id = $1 AND path = '/a'", [
      site.id,
    ]);
    await recordLockedEvents(writer, [{ ...eventOf(site.id), visitor: rows[0].visitor }]);
    await writer.query("COMMIT");
    writer.release();
    await mended;
    expect(await readRollups(database.pool, site.id)).toEqual(await recountRollups(database.pool, site.id));
    expect((await rebuild(site.id)).found).toEqual([]);
  });

  it("gives the figures of a recount while events go on coming, whatever was wrong before", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    const collector = open(() => Date.parse(`${day}T12:00:00Z`));
    for (let round = 0; round < 5; round++) {
      await database.pool.query(
        `UPDATE daily_stat SET visitors = visitors + 3, pageviews = pageviews + 2 WHERE site_id = $1 AND dimension <> 'os'`,
        [site.id],
      );
      if (round % 2) await database.pool.query("UPDATE daily_visitor SET seen = '{}' WHERE site_id = $1", [site.id]);
      const live = Array.from({ length: 60 }, (_, n) =>
        collector.collect({
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
      await Promise.all([rebuild(site.id, true), ...live]);
    }
    await rebuild(site.id, true);
    expect(await readRollups(database.pool, site.id)).toEqual(await recountRollups(database.pool, site.id));
  }, 60_000);

  it("runs once for a site at a time", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    const other = await database.pool.connect();
    expect(await lockRebuild(other, site.id)).toBe(true);
    await expect(rebuild(site.id, true)).rejects.toThrow(RebuildRunningError);
    expect((await rebuild(site.id)).days).toBe(1);
    await unlockRebuild(other, site.id);
    other.release();
    expect((await rebuild(site.id, true)).days).toBe(1);
  });

  it("sees the events of 1970-01-01, and those whose ids a wrong clock made", async () => {
    const site = await makeSite(database.pool);
    await load(site, [{ ts: "1970-01-01T00:00:00Z", path: "/old", visitor: "1" }, ...lines]);
    const ahead = { ...eventOf(site.id), id: createUuidV7(() => Date.parse("2031-01-01T00:00:00Z"))() };
    const client = await database.pool.connect();
    await inTransaction(client, () => recordEvents(client, [ahead]));
    client.release();
    const right = await readRollups(database.pool, site.id);
    expect(await rebuild(site.id, true)).toMatchObject({ days: 2, differences: 0 });
    expect(await readRollups(database.pool, site.id)).toEqual(right);
    expect(right.stats["1970-01-01 total "]).toEqual([1, 1]);
    expect(await exportText(site.id)).toContain('"path":"/old"');
  });

  it("keeps the rollups of days whose events are past their retention", async () => {
    const site = await makeSite(database.pool);
    await load(site, lines);
    await database.pool.query("DELETE FROM event WHERE site_id = $1", [site.id]);
    const before = await readRollups(database.pool, site.id);
    expect(await rebuild(site.id, true)).toMatchObject({ days: 0, skipped: 1, differences: 0 });
    expect(await readRollups(database.pool, site.id)).toEqual(before);
  });
});

describe("an export", () => {
  it("imports into another site as the same figures, and into its own as nothing new", async () => {
    const [from, to] = [await makeSite(database.pool), await makeSite(database.pool)];
    const collector = open(() => Date.parse(`${day}T12:00:00Z`));
    for (const [n, browser] of browsers.entries()) {
      await collector.collect({
        name: n === 2 ? "signup" : "pageview",
        url: new URL(`https://${from.domain}/ü?utm_source=x&utm_medium=cpc&gclid=1#/route`),
        isHashPath: true,
        domains: [from.domain],
        referrer: "https://www.google.com/",
        props: n === 2 ? { "a.b": 'quo"te', n: 1.5, yes: true } : null,
        ip: "192.0.2.1",
        userAgent: browser,
        country: "DE",
      });
    }
    await load(from, [
      { ts: "1999-12-31T23:59:59.123456Z", path: "/old", visitor: "x" },
      { ts: `${day}T01:00:00Z`, path: "/" },
    ]);
    const text = await exportText(from.id);
    expect(text.split("\n").filter(Boolean)).toHaveLength(5);
    const input = () => bytes(text);
    expect(await importEvents({ pool: database.pool, site: to, input: input() })).toEqual({
      imported: 5,
      rejected: 0,
      duplicates: 0,
      bots: 0,
    });
    expect(await readRollups(database.pool, to.id)).toEqual(await readRollups(database.pool, from.id));
    expect(await importEvents({ pool: database.pool, site: from, input: input() })).toMatchObject({
      imported: 0,
      duplicates: 5,
    });
    expect(text).toContain('"ts":"1999-12-31T23:59:59.123456Z"');
  });
});

describe("a day's lists", () => {
  it("take a bounded number of values; the tail counts as (other), and a rebuild agrees", async () => {
    const site = await makeSite(database.pool);
    const count = maxValuesPerDay + 2_000;
    const lines = Array.from({ length: count }, (_, n) => ({
      ts: `${day}T01:00:00Z`,
      path: `/${n}`,
      visitor: String(n % 3),
    }));
    await load(site, lines);
    await load(site, [
      { ts: `${day}T02:00:00Z`, path: "/0", visitor: "9" },
      { ts: `${day}T02:00:00Z`, path: "/new", visitor: "9" },
    ]);
    const { stats } = await readRollups(database.pool, site.id);
    const pages = Object.entries(stats).filter(([key]) => key.startsWith(`${day} page `));
    expect(pages).toHaveLength(maxValuesPerDay + 1);
    expect(stats[`${day} page (other)`]).toEqual([4, 2_001]);
    expect(stats[`${day} page /0`]).toEqual([2, 2]);
    expect(stats[`${day} total `]).toEqual([4, count + 2]);
    expect(pages.reduce((sum, [, [, views]]) => sum + views, 0)).toBe(count + 2);
    expect((await rebuild(site.id)).found).toEqual([]);
  }, 60_000);

  it("of custom events are bounded too, by values, properties and names", async () => {
    const site = await makeSite(database.pool);
    const event = (name: string, props: object, hour = 1) => ({
      ts: `${day}T0${hour}:00:00Z`,
      type: "event",
      name,
      props,
    });
    const count = Math.ceil(maxEventBytesPerDay / eventRowCost("e", "v", "v1000"));
    const fill = Array.from({ length: count }, (_, n) => event("e", { v: `v${n}` }));
    await load(site, fill);
    await load(site, [
      event("e", { v: "late" }),
      event("e", { late: "x" }),
      event("late", { v: "x" }),
      event("e", { v: "v1" }, 2),
    ]);
    const { events } = await readRollups(database.pool, site.id);
    expect(Object.keys(events).length).toBeLessThanOrEqual(count + 4);
    expect(events[`${day} e  `]).toBe(count + 3);
    expect(events[`${day} e v (other)`]).toBeGreaterThanOrEqual(1);
    expect(events[`${day} e (other) (other)`]).toBe(1);
    expect(events[`${day} (other)  `]).toBe(1);
    expect(events[`${day} e v v1`]).toBe(2);
    expect((await rebuild(site.id)).found).toEqual([]);
  }, 60_000);
});

describe("the first day of 1970", () => {
  it("is counted anew from its events as every other day", async () => {
    const site = await makeSite(database.pool);
    await load(site, [
      { ts: "1970-01-01T00:00:00Z", path: "/" },
      { ts: "1970-01-01T23:59:59Z", path: "/" },
    ]);
    expect((await rebuild(site.id)).found).toEqual([]);
    const { rows } = await database.pool.query(
      "SELECT pageviews FROM daily_stat WHERE site_id = $1 AND day = '1970-01-01' AND dimension = 'total'",
      [site.id],
    );
    expect(rows).toEqual([{ pageviews: 2 }]);
  });
});

describe("a custom event's long values", () => {
  it("count by their first 200 bytes, as the database cuts them too", async () => {
    const site = await makeSite(database.pool);
    const values = [
      "x".repeat(200),
      "x".repeat(201),
      "ü".repeat(150),
      `${"x".repeat(196)}€€€`,
      `${"x".repeat(195)}😀😀`,
    ];
    await load(
      site,
      values.map((v) => ({ ts: `${day}T01:00:00Z`, type: "event", name: "e", props: { v } })),
    );
    const { events } = await readRollups(database.pool, site.id);
    const listed = Object.keys(events).filter((key) => key.startsWith(`${day} e v `));
    expect(listed).toHaveLength(values.length);
    for (const key of listed) expect(Buffer.byteLength(key.slice(`${day} e v `.length))).toBeLessThanOrEqual(200);
    expect((await rebuild(site.id)).found).toEqual([]);
  });

  it("take at most about a mebibyte of a day, whatever comes", async () => {
    const site = await makeSite(database.pool);
    const text = (n: number) => `${n}`.padEnd(190, "y");
    for (let round = 0; round < 3; round++) {
      const lines = Array.from({ length: 900 }, (_, n) => ({
        ts: `${day}T01:00:00Z`,
        type: "event",
        name: text(n % 30),
        props: { [text(n % 7)]: text(round * 1_000 + n), [text(8 + (n % 7))]: `${n}`.repeat(200) },
      }));
      await load(site, lines);
    }
    const { rows } = await database.pool.query(
      "SELECT sum(octet_length(name) + octet_length(property) + octet_length(value) + 32)::int AS bytes FROM daily_event WHERE site_id = $1",
      [site.id],
    );
    expect(rows[0].bytes).toBeGreaterThan(maxEventBytesPerDay * 0.9);
    expect(rows[0].bytes).toBeLessThan(2.2 * maxEventBytesPerDay);
    const { events } = await readRollups(database.pool, site.id);
    const counted = Object.entries(events).filter(([key]) => key.endsWith("  "));
    expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBe(2_700);
    expect((await rebuild(site.id)).found).toEqual([]);
  });

  it("are bounded on a day from before bytes were counted too", async () => {
    const site = await makeSite(database.pool);
    const event = (v: string) => ({ ts: `${day}T01:00:00Z`, type: "event", name: "e", props: { v } });
    await load(site, [event("a")]);
    await database.pool.query("DELETE FROM daily_size WHERE site_id = $1 AND dimension = 'event_bytes'", [site.id]);
    await load(site, [event("bc")]);
    const { rows } = await database.pool.query(
      `SELECT "values" FROM daily_size WHERE site_id = $1 AND dimension = 'event_bytes'`,
      [site.id],
    );
    expect(rows).toEqual([{ values: 3 * 32 + 1 + 3 + 4 }]);
  });
});

describe("partitions", () => {
  it("that another transaction is in the way of are made later, and its events are recorded meanwhile", async () => {
    const site = await makeSite(database.pool);
    const other = await database.pool.connect();
    await other.query("BEGIN");
    await other.query("LOCK TABLE event_default IN ROW EXCLUSIVE MODE");
    await load(site, [{ ts: "2018-07-01T00:00:00Z", path: "/" }]);
    await other.query("COMMIT");
    other.release();
    const { rows } = await database.pool.query(
      "SELECT tableoid::regclass::text AS partition FROM event WHERE site_id = $1",
      [site.id],
    );
    expect(rows).toEqual([{ partition: "event_default" }]);
  });

  it("are made by month as events come, and events of impossible months stay in the default one", async () => {
    const site = await makeSite(database.pool);
    await load(site, [
      { ts: "2021-02-28T23:59:59Z", path: "/" },
      { ts: "2021-03-01T00:00:00Z", path: "/" },
      { ts: "1970-01-01T00:00:00Z", path: "/" },
      { ts: "9999-12-31T23:59:59Z", path: "/" },
    ]);
    const { rows } = await database.pool.query(
      `SELECT tableoid::regclass::text AS partition, count(*)::int FROM event WHERE site_id = $1 GROUP BY 1 ORDER BY 1`,
      [site.id],
    );
    expect(rows).toEqual([
      { partition: "event_202102", count: 1 },
      { partition: "event_202103", count: 1 },
      { partition: "event_default", count: 2 },
    ]);
  });

  it("take over what the default one holds of their month, and are made once by many at once", async () => {
    const site = await makeSite(database.pool);
    const pool = createPool({
      connectionString: database.url,
      maxConnections: 5,
      applicationName: "t",
      statementTimeoutMs: 0,
    });
    const at = Date.parse("2019-07-15T00:00:00Z");
    const id = createUuidV7(() => at)();
    await pool.query(
      "INSERT INTO event (site_id, id, at, type, path, channel) VALUES ($1, $2, $3, 'pageview', '/', 'Direct')",
      [site.id, id, new Date(at)],
    );
    await Promise.all(Array.from({ length: 5 }, () => pool.query("SELECT ensure_event_partition('2019-07-01')")));
    const { rows } = await pool.query("SELECT tableoid::regclass::text AS partition FROM event WHERE id = $1", [id]);
    expect(rows).toEqual([{ partition: "event_201907" }]);
    await pool.end();
  });
});
