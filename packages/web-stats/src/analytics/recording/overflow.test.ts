import { describe, expect, it } from "@jest/globals";
import { useAnalytics } from "../analytics.fixture.js";
import { eventRowCost, maxEventBytesPerDay, maxValuesPerDay } from "./overflow.js";
import { readRollups } from "./recount.fixture.js";
import { makeSite } from "./site.fixture.js";

const analytics = useAnalytics();
const day = "2026-05-01";

describe("a day's lists", () => {
  it("take a bounded number of values; the tail counts as (other), and a rebuild agrees", async () => {
    const site = await makeSite(analytics.pool);
    const count = maxValuesPerDay + 2_000;
    const lines = Array.from({ length: count }, (_, n) => ({
      ts: `${day}T01:00:00Z`,
      path: `/${n}`,
      visitor: String(n % 3),
    }));
    await analytics.load(site, lines);
    await analytics.load(site, [
      { ts: `${day}T02:00:00Z`, path: "/0", visitor: "9" },
      { ts: `${day}T02:00:00Z`, path: "/new", visitor: "9" },
    ]);
    const { stats } = await readRollups(analytics.pool, site.id);
    const pages = Object.entries(stats).filter(([key]) => key.startsWith(`${day} page `));
    expect(pages).toHaveLength(maxValuesPerDay + 1);
    expect(stats[`${day} page (other)`]).toEqual([4, 2_001]);
    expect(stats[`${day} page /0`]).toEqual([2, 2]);
    expect(stats[`${day} total `]).toEqual([4, count + 2]);
    expect(pages.reduce((sum, [, [, views]]) => sum + views, 0)).toBe(count + 2);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("of custom events are bounded too, by values, properties and names", async () => {
    const site = await makeSite(analytics.pool);
    const event = (name: string, props: object, hour = 1) => ({
      ts: `${day}T0${hour}:00:00Z`,
      type: "event",
      name,
      props,
    });
    const count = Math.ceil(maxEventBytesPerDay / eventRowCost("e", "v", "v1000"));
    const fill = Array.from({ length: count }, (_, n) => event("e", { v: `v${n}` }));
    await analytics.load(site, fill);
    await analytics.load(site, [
      event("e", { v: "late" }),
      event("e", { late: "x" }),
      event("late", { v: "x" }),
      event("e", { v: "v1" }, 2),
    ]);
    const { events } = await readRollups(analytics.pool, site.id);
    expect(Object.keys(events).length).toBeLessThanOrEqual(count + 4);
    expect(events[`${day} e  `]).toBe(count + 3);
    expect(events[`${day} e v (other)`]).toBeGreaterThanOrEqual(1);
    expect(events[`${day} e (other) (other)`]).toBe(1);
    expect(events[`${day} (other)  `]).toBe(1);
    expect(events[`${day} e v v1`]).toBe(2);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });
});

describe("a custom event's long values", () => {
  it("count by their first 200 bytes, as the database cuts them too", async () => {
    const site = await makeSite(analytics.pool);
    const values = [
      "x".repeat(200),
      "x".repeat(201),
      "ü".repeat(150),
      `${"x".repeat(196)}€€€`,
      `${"x".repeat(195)}😀😀`,
    ];
    await analytics.load(
      site,
      values.map((v) => ({ ts: `${day}T01:00:00Z`, type: "event", name: "e", props: { v } })),
    );
    const { events } = await readRollups(analytics.pool, site.id);
    const listed = Object.keys(events).filter((key) => key.startsWith(`${day} e v `));
    expect(listed).toHaveLength(values.length);
    for (const key of listed) expect(Buffer.byteLength(key.slice(`${day} e v `.length))).toBeLessThanOrEqual(200);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("take at most about a mebibyte of a day, whatever comes", async () => {
    const site = await makeSite(analytics.pool);
    const text = (n: number) => `${n}`.padEnd(190, "y");
    for (let round = 0; round < 3; round++) {
      const lines = Array.from({ length: 900 }, (_, n) => ({
        ts: `${day}T01:00:00Z`,
        type: "event",
        name: text(n % 30),
        props: { [text(n % 7)]: text(round * 1_000 + n), [text(8 + (n % 7))]: `${n}`.repeat(200) },
      }));
      await analytics.load(site, lines);
    }
    const { rows } = await analytics.pool.query(
      "SELECT sum(octet_length(name) + octet_length(property) + octet_length(value) + 32)::int AS bytes FROM daily_event WHERE site_id = $1",
      [site.id],
    );
    expect(rows[0].bytes).toBeGreaterThan(maxEventBytesPerDay * 0.9);
    expect(rows[0].bytes).toBeLessThan(2.2 * maxEventBytesPerDay);
    const { events } = await readRollups(analytics.pool, site.id);
    const counted = Object.entries(events).filter(([key]) => key.endsWith("  "));
    expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBe(2_700);
    expect((await analytics.rebuild(site.id)).found).toEqual([]);
  });

  it("are bounded on a day from before bytes were counted too", async () => {
    const site = await makeSite(analytics.pool);
    const event = (v: string) => ({ ts: `${day}T01:00:00Z`, type: "event", name: "e", props: { v } });
    await analytics.load(site, [event("a")]);
    await analytics.pool.query("DELETE FROM daily_size WHERE site_id = $1 AND dimension = 'event_bytes'", [site.id]);
    await analytics.load(site, [event("bc")]);
    const { rows } = await analytics.pool.query(
      `SELECT "values" FROM daily_size WHERE site_id = $1 AND dimension = 'event_bytes'`,
      [site.id],
    );
    expect(rows).toEqual([{ values: 3 * 32 + 1 + 3 + 4 }]);
  });
});
