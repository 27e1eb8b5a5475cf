import { describe, expect, it } from "@jest/globals";
import { createUuidV7, formatUuid, inTransaction } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useAnalytics } from "../analytics.fixture.js";
import { recordEvents } from "./record-events.js";
import { readRollups, recountRollups } from "./recount.fixture.js";
import { readVisitFigures, recountVisitFigures } from "./recount-visits.fixture.js";
import type { SiteEvent } from "./site-event.js";
import { recordForthAndBack } from "./two-writers.fixture.js";
import { view } from "./view.fixture.js";

const analytics = useAnalytics();
const uuid = createUuidV7();

type Drawn = Omit<SiteEvent, "siteId">;

async function record(siteId: string, events: readonly Drawn[]): Promise<void> {
  const client = await analytics.pool.connect();
  try {
    await inTransaction(client, () =>
      recordEvents(
        client,
        events.map((event) => ({ ...event, siteId })),
      ),
    );
  } finally {
    client.release();
  }
}

const at = (time: string): Drawn => ({ ...view, id: uuid(), at: `2026-05-01T${time}Z` });
const event = { type: "event", name: "signup" } as const;
const engagement = { type: "engagement", engagement: { engagedMs: 5_000, scrollDepth: 80 } } as const;

/** Visits as stored: beginning and end in minutes, page views, custom events, entry and exit page, source. */
async function visitsOf(siteId: string) {
  const { rows } = await analytics.pool.query(
    `SELECT (first_us / 6e7)::float AS first, (last_us / 6e7)::float AS last, views, events, entry_path, exit_path, source
     FROM visit WHERE site_id = $1 ORDER BY day, visitor, first_us`,
    [siteId],
  );
  return rows.map((row) => Object.values(row));
}

describe("visits", () => {
  it("end after 30 minutes without an event, to the microsecond", async () => {
    const site = uuid();
    await record(site, [at("10:00:00.000000"), at("10:29:59.999999"), at("10:59:59.999999")]);
    const visits = await visitsOf(site);
    expect(visits.map(([, , views]) => views)).toEqual([2, 1]);
  });

  it("grow at their end and their front, and join, with the beginning's attributes", async () => {
    const site = uuid();
    const early = { ...at("10:00:00.000000"), path: "/early", source: "Google" };
    const late = { ...at("10:50:00.000000"), path: "/late", source: "Bing" };
    await record(site, [late]);
    await record(site, [early]);
    expect(await visitsOf(site)).toEqual([
      [600, 600, 1, 0, "/early", "/early", "Google"],
      [650, 650, 1, 0, "/late", "/late", "Bing"],
    ]);
    await record(site, [{ ...at("10:25:00.000000"), ...event }]);
    expect(await visitsOf(site)).toEqual([[600, 650, 2, 1, "/early", "/late", "Google"]]);
    await record(site, [{ ...at("09:40:00.000000"), ...event, source: "Yahoo" }]);
    expect(await visitsOf(site)).toEqual([[580, 650, 2, 2, "/early", "/late", "Google"]]);
    expect(await readVisitFigures(analytics.pool, site)).toEqual(await recountVisitFigures(analytics.pool, site));
  });

  it("take the page of the smaller id at the same moment for their entry, and that of the larger for their exit", async () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      const site = uuid();
      for (const n of order) {
        await record(site, [{ ...at("10:00:00.000000"), id: formatUuid(Buffer.alloc(16, n + 1)), path: `/${n}` }]);
      }
      expect(await visitsOf(site)).toEqual([[600, 600, 3, 0, "/0", "/2", null]]);
    }
  });

  it("of custom events alone have no pages, and the first event's attributes", async () => {
    const site = uuid();
    await record(site, [
      { ...at("10:10:00.000000"), ...event, source: "Bing" },
      { ...at("10:00:00.000000"), ...event, source: "Google" },
    ]);
    expect(await visitsOf(site)).toEqual([[600, 610, 0, 2, null, null, "Google"]]);
    const { stats } = await readRollups(analytics.pool, site);
    expect(stats).toEqual({});
  });

  it("end with engagement within 30 minutes of their last view, also where it comes first", async () => {
    const [early, late] = [at("10:00:00.000000"), at("10:20:00.000000")];
    const reports = ["09:59:59.999999", "10:10:00.000000", "10:49:59.999999", "10:50:00.000000"];
    const engaged = reports.map((time) => ({ ...at(time), ...engagement }));
    const waiting = [0, 0, null, null];
    for (const order of [
      [early, late, ...engaged],
      [...engaged, late, early],
      [...engaged.toReversed(), early, late],
    ]) {
      const site = uuid();
      for (const each of order) await record(site, [each]);
      const { rows } = await analytics.pool.query(
        "SELECT views, events, (first_us / 6e7)::float AS first, (end_us / 6e7)::float AS end FROM visit WHERE site_id = $1 ORDER BY first_us",
        [site],
      );
      expect(
        rows.map((row) => [
          row.views,
          row.events,
          row.first === 600 ? row.first : null,
          row.end && Math.round(row.end),
        ]),
      ).toEqual([waiting, [2, 0, 600, 650], waiting]);
      const figures = await readVisitFigures(analytics.pool, site);
      expect(figures["2026-05-01 total "]).toEqual([0, 0, 1, 0, 2_999_999_999, 2, 0, 4]);
      expect(figures).toEqual(await recountVisitFigures(analytics.pool, site));
      expect((await analytics.rebuild(site)).found).toEqual([]);
    }
  });

  it("keep a hundred moments of engagement that no visit holds, the first ones", async () => {
    const site = uuid();
    const moments = Array.from({ length: 130 }, (_, n) => ({
      ...at(`12:${String(n % 60).padStart(2, "0")}:0${Math.floor(n / 60)}.000000`),
      ...engagement,
    }));
    for (let n = 0; n < 130; n += 13) await record(site, moments.slice(n, n + 13));
    expect(await visitsOf(site)).toHaveLength(100);
    expect((await analytics.rebuild(site)).found).toEqual([]);
    expect(await recountVisitFigures(analytics.pool, site)).toEqual(await readVisitFigures(analytics.pool, site));
  });

  it("bounce with one page view and events that are no interaction", async () => {
    const site = uuid();
    const passive = { ...event, isInteractive: false };
    await record(site, [at("10:00:00.000000"), { ...at("10:05:00.000000"), ...passive }]);
    expect((await readVisitFigures(analytics.pool, site))["2026-05-01 total "]).toEqual([0, 0, 1, 1, 3e8, 1, 1, 0]);
    await record(site, [{ ...at("10:06:00.000000"), ...event }]);
    expect((await readVisitFigures(analytics.pool, site))["2026-05-01 total "]).toEqual([0, 0, 1, 0, 3.6e8, 1, 2, 0]);
  });

  it("end with the UTC day, and need a visitor", async () => {
    const site = uuid();
    await record(site, [
      at("23:59:59.999999"),
      { ...view, id: uuid(), at: "2026-05-02T00:00:00.000000Z" },
      { ...at("12:00:00.000000"), visitor: null },
    ]);
    expect(await visitsOf(site)).toHaveLength(2);
  });

  it("equal a naive recount, whatever comes in whatever order from two writers, and a rebuild agrees", async () => {
    const path = fc.constantFrom("/a", "/b", "/c", "ü");
    const happening = fc.record({
      key: fc.integer({ min: 0, max: 60 }),
      day: fc.constantFrom(1, 1, 2),
      // Steps of five minutes, now and then a microsecond off, so that gaps are often just 30 minutes.
      step: fc.integer({ min: 0, max: 18 }),
      micros: fc.constantFrom(0, 0, 0, 1),
      type: fc.constantFrom("pageview", "event", "passive", "engagement"),
      visitor: fc.option(fc.constantFrom("-9", "1", "2")),
      path,
      host: fc.option(fc.constantFrom("x.example", "y.example")),
      source: fc.option(fc.constantFrom("Google", "Bing")),
      channel: fc.constantFrom("Direct" as const, "Search" as const),
      country: fc.option(fc.constantFrom("DE", "FR")),
      browser: fc.option(fc.constantFrom("Firefox", "Chrome")),
      os: fc.option(fc.constantFrom("Linux")),
      device: fc.option(fc.constantFrom("desktop", "mobile")),
      utm_source: fc.option(fc.constantFrom("n", "m")),
      utm_medium: fc.option(fc.constantFrom("email")),
      utm_campaign: fc.option(fc.constantFrom("spring", "autumn")),
    });
    const happenings = fc.array(happening, { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(happenings, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), async (drawn, sizes) => {
        const site = uuid();
        const all = drawn.map(({ key, day, step, micros, type, ...rest }): Drawn => {
          const moment = new Date(Date.UTC(2026, 4, day, 0, step * 5)).toISOString().slice(0, -1);
          const own = { ...view, ...rest, id: formatUuid(Buffer.alloc(16, key)), at: `${moment}00${micros}Z` };
          if (type === "pageview") return own;
          if (type === "engagement") return { ...own, ...engagement };
          return { ...own, ...event, isInteractive: type === "event", revenue: { amount: "-0.1", currency: "EUR" } };
        });
        await recordForthAndBack(all, sizes, (batch) => record(site, batch));
        expect(await readVisitFigures(analytics.pool, site)).toEqual(await recountVisitFigures(analytics.pool, site));
        expect(await readRollups(analytics.pool, site)).toEqual(await recountRollups(analytics.pool, site));
        expect((await analytics.rebuild(site)).found).toEqual([]);
      }),
      randomRuns(12),
    );
  });
});
