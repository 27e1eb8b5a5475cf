import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { uuidV7Floor } from "@waymark/database";
import { importEvents } from "../analytics/import/import-events.js";
import { createDayColumns } from "./columns/day-columns.js";
import { parseFilters } from "./filters/filter.js";
import { createOverviewReader } from "./read-overview.js";
import { useSites } from "./statistics.fixture.js";

interface Visit {
  at: string;
  visitor: number | null;
  type?: "pageview" | "event" | "engagement";
}

const now = new Date("2026-03-15T10:30:00Z");
const today = { first: "2026-03-15", last: "2026-03-15" };
const week = { first: "2026-03-09", last: "2026-03-15" };

describe("the overview of a range", () => {
  const { pool, makeSite } = useSites();
  const readOverview = createOverviewReader(pool);

  /** Stores raw events with the rollups that recording would make. */
  async function add(siteId: string, visits: readonly Visit[]) {
    for (const { at, visitor, type = "pageview" } of visits) {
      const id = uuidV7Floor(Date.parse(at)).slice(0, 19) + randomUUID().slice(19);
      await pool.query(
        "INSERT INTO event (site_id, id, at, type, visitor, path, channel, name) VALUES ($1, $2, $3, $4, $5, '/', 'Direct', 'e')",
        [siteId, id, at, type, visitor],
      );
    }
    await pool.query(
      `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, events)
       SELECT site_id, dimension, (at AT TIME ZONE 'UTC')::date, value,
         count(DISTINCT visitor) FILTER (WHERE type = 'pageview'), count(*) FILTER (WHERE type = 'pageview'),
         count(*) FILTER (WHERE type = 'event')
       FROM event CROSS JOIN LATERAL (
         VALUES ('total', ''), ('hour', to_char(at AT TIME ZONE 'UTC', 'HH24'))
       ) AS each (dimension, value)
       WHERE site_id = $1 GROUP BY 1, 2, 3, 4`,
      [siteId],
    );
    await pool.query(
      `INSERT INTO daily_event (site_id, day, name, property, value, count)
       SELECT site_id, (at AT TIME ZONE 'UTC')::date, name, '', '', count(*)
       FROM event WHERE site_id = $1 AND type = 'event' GROUP BY 1, 2, 3`,
      [siteId],
    );
  }

  it("compares the present day with the same part of the day before", async () => {
    const siteId = await makeSite();
    await add(siteId, [
      { at: "2026-03-15T00:00:00Z", visitor: 1 },
      { at: "2026-03-15T10:10:00Z", visitor: 1 },
      { at: "2026-03-15T10:20:00Z", visitor: 2, type: "event" },
      { at: "2026-03-15T10:21:00Z", visitor: 2, type: "engagement" },
      { at: "2026-03-14T10:29:59.999Z", visitor: 3 },
      { at: "2026-03-14T10:29:59.999Z", visitor: 6, type: "engagement" },
      { at: "2026-03-14T10:30:00Z", visitor: 4 },
      { at: "2026-03-14T23:59:59Z", visitor: 3, type: "event" },
      { at: "2026-03-13T23:59:59Z", visitor: 5 },
    ]);
    const answer = await readOverview({ siteId, range: today, comparison: "previous", now });
    expect(answer).toMatchObject({ interval: "hour", totals: { visitors: 1, pageviews: 2, events: 1 } });
    expect(answer.series).toHaveLength(11);
    expect(answer.series[0]).toMatchObject({ at: "2026-03-15T00", visitors: 1, pageviews: 1, events: 0 });
    expect(answer.series[10]).toMatchObject({ at: "2026-03-15T10", visitors: 1, pageviews: 1, events: 1 });
    expect(answer.comparison).toMatchObject({
      from: "2026-03-14",
      until: "2026-03-14T10:30:00.000Z",
      totals: { visitors: 1, pageviews: 1, events: 0 },
    });
    expect(answer.comparison?.series).toHaveLength(24);
    expect(answer.comparison?.series[10]).toMatchObject({ visitors: 2, pageviews: 2 });
    expect(answer.comparison?.series[23]).toMatchObject({ visitors: 0, events: 1 });
  });

  it("counts the last day of the days before in part, and the others whole", async () => {
    const siteId = await makeSite();
    await add(siteId, [
      { at: "2026-03-02T23:00:00Z", visitor: 1 },
      { at: "2026-03-08T10:29:00Z", visitor: 2 },
      { at: "2026-03-08T10:31:00Z", visitor: 3 },
      { at: "2026-03-15T09:00:00Z", visitor: 4 },
    ]);
    const answer = await readOverview({ siteId, range: week, comparison: "previous", now });
    expect(answer.interval).toBe("day");
    expect(answer.series.map(({ at }) => at)).toEqual(
      [9, 10, 11, 12, 13, 14, 15].map((n) => `2026-03-${String(n).padStart(2, "0")}`),
    );
    expect(answer.comparison).toMatchObject({
      from: "2026-03-02",
      to: "2026-03-08",
      totals: { visitors: 2, pageviews: 2 },
    });
    expect(answer.comparison?.series.at(-1)).toMatchObject({ at: "2026-03-08", visitors: 2, pageviews: 2, events: 0 });
  });

  it("compares whole days where the range has ended, a year ago or before", async () => {
    const siteId = await makeSite();
    await add(siteId, [{ at: "2025-03-01T23:00:00Z", visitor: 1 }]);
    const range = { first: "2026-03-01", last: "2026-03-02" };
    const year = await readOverview({ siteId, range, comparison: "year", now });
    expect(year.comparison).toMatchObject({
      from: "2025-03-01",
      to: "2025-03-02",
      totals: { visitors: 1, pageviews: 1, events: 0 },
      series: [
        { at: "2025-03-01", visitors: 1, pageviews: 1, events: 0 },
        { at: "2025-03-02", visitors: 0, pageviews: 0, events: 0 },
      ],
    });
    const off = await readOverview({ siteId, range, comparison: "off", now });
    expect(off.comparison).toBeUndefined();
  });

  it("compares whole days where raw events are past retention, and draws their hours", async () => {
    const siteId = await makeSite();
    await add(siteId, [{ at: "2026-03-14T23:00:00Z", visitor: 1 }]);
    await pool.query("UPDATE event_horizon SET day = '2026-03-15'");
    try {
      const answer = await readOverview({ siteId, range: today, comparison: "previous", now });
      expect(answer).toMatchObject({ interval: "hour", comparison: { totals: { visitors: 1 } } });
      expect(answer.comparison).not.toHaveProperty("until");
      expect(answer.comparison?.series[23]).toMatchObject({ visitors: 1, pageviews: 1 });
    } finally {
      await pool.query("UPDATE event_horizon SET day = NULL");
    }
  });

  it("compares whole days and draws days where one has another tool's figures", async () => {
    const siteId = await makeSite();
    await pool.query("INSERT INTO imported_day (site_id, day, source) VALUES ($1, '2026-03-14', 'plausible')", [
      siteId,
    ]);
    await pool.query(
      `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, visits)
       VALUES ($1, 'total', '2026-03-14', '', 150, 200, 160)`,
      [siteId],
    );
    await add(siteId, [{ at: "2026-03-15T09:00:00Z", visitor: 1 }]);
    const answer = await readOverview({ siteId, range: today, comparison: "previous", now });
    const figures = { visitors: 150, pageviews: 200, visits: 160 };
    expect(answer).toMatchObject({ interval: "day", series: [{ at: "2026-03-15", pageviews: 1 }] });
    expect(answer.comparison).toMatchObject({ totals: figures, series: [{ at: "2026-03-14", ...figures }] });
    expect(answer.comparison).not.toHaveProperty("until");
    const off = await readOverview({ siteId, range: today, comparison: "off", now });
    expect(off.interval).toBe("hour");
    const imported = { first: "2026-03-14", last: "2026-03-14" };
    const itself = await readOverview({ siteId, range: imported, comparison: "off", now });
    expect(itself).toMatchObject({ interval: "day", totals: figures, series: [figures] });
  });

  it("compares with a part of a day up to 500,000 page views and events, and with all of a larger one", async () => {
    const siteId = await makeSite();
    await add(siteId, [{ at: "2026-03-14T23:00:00Z", visitor: 1 }]);
    const ask = async () => (await readOverview({ siteId, range: today, comparison: "previous", now })).comparison;
    await pool.query("UPDATE daily_stat SET pageviews = 500_000 WHERE site_id = $1", [siteId]);
    expect(await ask()).toMatchObject({ totals: { pageviews: 0 }, until: "2026-03-14T10:30:00.000Z" });
    await pool.query("UPDATE daily_stat SET pageviews = 500_001 WHERE site_id = $1", [siteId]);
    expect(await ask()).toMatchObject({ totals: { pageviews: 500_001 } });
    expect(await ask()).not.toHaveProperty("until");
  });

  it("counts waiting engagement as no visit, and views without a visitor as no visitor", async () => {
    const siteId = await makeSite();
    await add(siteId, [
      { at: "2026-03-14T09:00:00Z", visitor: 1 },
      { at: "2026-03-14T09:10:00Z", visitor: null },
      { at: "2026-03-14T09:20:00Z", visitor: 2, type: "engagement" },
    ]);
    for (const [visitor, views] of [
      [1, 1],
      [2, 0],
    ]) {
      await pool.query(
        `INSERT INTO visit (site_id, day, visitor, first_us, last_us, entry_us, entry_id, views, events, passive_events, channel, viewed)
         VALUES ($1, '2026-03-14', $2, 32400000000, 32490000000, 0, gen_random_uuid(), $3, 0, 0, 'Direct', '{}')`,
        [siteId, visitor, views],
      );
    }
    const { comparison } = await readOverview({ siteId, range: today, comparison: "previous", now });
    expect(comparison?.totals).toMatchObject({
      visitors: 1,
      pageviews: 2,
      visits: 1,
      bounceRate: 1,
      visitDuration: 90,
    });
  });

  it("counts visits that match by the same rule up to a moment of the day, whatever they do after it", async () => {
    const siteId = await makeSite();
    const yesterday = (time: string, visitor: string, more: object = {}) => ({
      ts: `2026-03-14T${time}Z`,
      path: "/",
      visitor,
      ...more,
    });
    const signup = { type: "event", name: "signup" };
    const lines = [
      ...[yesterday("10:10:00", "1"), yesterday("10:29:59", "1"), yesterday("10:40:00", "1")],
      ...[yesterday("10:28:00", "2", signup), yesterday("10:35:00", "2"), yesterday("10:36:00", "2", signup)],
      ...[
        yesterday("10:20:00", "3", { country: "DE" }),
        yesterday("10:45:00", "3", signup),
        yesterday("10:31:00", "4"),
      ],
    ];
    const input = Readable.from([Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))]);
    expect(await importEvents({ pool, site: { id: siteId, domain: "a.example" }, input })).toMatchObject({
      imported: lines.length,
    });
    const columns = createDayColumns({ pool, maxBytes: 1_000_000 }).open("account");
    const read = async (filters: string) => {
      const filtering = filters === "" ? undefined : { filters: parseFilters(filters), columns };
      return (await readOverview({ siteId, range: today, comparison: "previous", now, filtering })).comparison;
    };
    const whole = await read("");
    expect(whole?.totals).toMatchObject({ visitors: 2, pageviews: 3, events: 1, visits: 3, viewsPerVisit: 5 / 3 });
    expect(await read("source:is:")).toEqual(whole);
    expect((await read("country:is:DE"))?.totals).toMatchObject({
      visitors: 1,
      pageviews: 1,
      visits: 1,
      bounceRate: 0,
    });
    expect((await read("event:is:signup"))?.totals).toMatchObject({
      visitors: 1,
      events: 1,
      visits: 2,
      viewsPerVisit: 1,
    });
  });

  it("has days without hours in the first moment of a day, and days of 1970", async () => {
    const siteId = await makeSite();
    const midnight = new Date("2026-03-15T00:00:00.000Z");
    const answer = await readOverview({ siteId, range: today, comparison: "previous", now: midnight });
    expect(answer.series).toHaveLength(1);
    expect(answer.comparison?.totals).toMatchObject({ visitors: 0, pageviews: 0, events: 0 });
    const range = { first: "1970-01-01", last: "1970-01-01" };
    const oldest = await readOverview({ siteId, range, comparison: "previous", now });
    expect(oldest.comparison).toMatchObject({ from: "1969-12-31", to: "1969-12-31" });
  });
});
