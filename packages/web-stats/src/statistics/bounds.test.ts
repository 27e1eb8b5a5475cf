import { Buffer } from "node:buffer";
import { describe, expect, it } from "@jest/globals";
import { type CustomEvent, readCustomEvents } from "./custom-events.query.js";
import { writeCsv } from "./list-rows.js";
import { resolveRange } from "./range.js";
import { readList, readStatistics } from "./read-statistics.js";
import { useSites } from "./statistics.fixture.js";

const maxBytes = 1_048_576;
const range = resolveRange({ range: "7d" }, new Date("2026-03-15T10:00:00Z"));

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

describe("an answer of custom events", () => {
  const { pool, makeSite } = useSites();

  /** Reads rows that strangers' beacons may make, with an event's total beside them. */
  async function read(rows: string[]): Promise<CustomEvent[]> {
    const siteId = await makeSite();
    for (const each of rows) {
      await pool.query(`INSERT INTO daily_event (site_id, day, name, property, value, count) SELECT $1, ${each}`, [
        siteId,
      ]);
    }
    const events = await readCustomEvents(pool, { siteId, first: range.first, last: range.last });
    const bytes = Buffer.byteLength(JSON.stringify({ range: "7d", events }));
    expect(bytes).toBeLessThanOrEqual(maxBytes);
    // Bounded, and not by leaving everything out.
    expect(bytes).toBeGreaterThan(maxBytes / 5);
    return events;
  }

  it("is at most 1 MiB after seven days of values of 2 KB, and counts what it leaves out as (other)", async () => {
    const events = await read([
      `'2026-03-15'::date - d, 'visit', '', '', 3000 FROM generate_series(0, 6) AS d`,
      `'2026-03-15'::date - d, 'visit', 'p' || p, repeat(md5((d * 10000 + p * 1000 + v)::text), 62), 1
       FROM generate_series(0, 6) AS d, generate_series(1, 3) AS p, generate_series(1, 1000) AS v`,
    ]);
    expect(events).toMatchObject([{ name: "visit", count: 21_000 }]);
    const properties = events[0]?.properties ?? {};
    expect(Object.keys(properties)).toEqual(["p1", "p2", "p3"]);
    for (const values of Object.values(properties)) {
      expect(sum(Object.values(values))).toBe(7_000);
      const names = Object.keys(values);
      expect(names.length).toBeGreaterThan(50);
      expect([names[0]?.length, names.at(-1)]).toEqual([1_984, "(other)"]);
    }
  });

  it("is at most 1 MiB for names that JSON makes six times as long", async () => {
    const events = await read([
      `'2026-03-15', repeat(chr(1), 190) || n, '', '', 2 FROM generate_series(10000, 11499) AS n`,
    ]);
    expect(events.length).toBeGreaterThan(100);
    expect(events.at(-1)?.name).toBe("(other)");
    expect(sum(events.map(({ count }) => count))).toBe(3_000);
  });

  it("is at most 1 MiB for 20,000 properties, and has each event's most frequent ones", async () => {
    const events = await read([
      `'2026-03-15', name, '', '', 50000 FROM unnest(ARRAY['loud', 'quiet']) AS name`,
      `'2026-03-15', 'loud', repeat('x', 190) || n, 'v', 2 FROM generate_series(10000, 29999) AS n`,
      `'2026-03-15', 'quiet', 'plan', 'pro', 1`,
    ]);
    const [loud, quiet] = events;
    expect(quiet).toEqual({ name: "quiet", count: 50_000, properties: { plan: { pro: 1 } } });
    const properties = Object.entries(loud?.properties ?? {});
    expect(properties.length).toBeGreaterThan(500);
    expect(properties.at(-1)).toEqual(["(other)", { "(other)": 40_000 - 2 * (properties.length - 1) }]);
  });
});

describe("lists of pages", () => {
  const { pool, makeSite } = useSites();

  it("end before 1 MiB in all, whatever their limit", async () => {
    const siteId = await makeSite();
    await pool.query(
      `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
       SELECT $1, dimension, '2026-03-15', repeat(chr(1), 1900) || n, 1, 1
       FROM unnest(ARRAY['page', 'entry', 'utm_source', 'utm_medium', 'utm_campaign']) AS dimension,
         generate_series(1000, 1999) AS n`,
      [siteId],
    );
    const query = { siteId, range, limit: 1_000, withPrevious: false, metrics: [] };
    for (const lists of [[], ["entryPages", "utmSources", "utmMediums", "utmCampaigns"]] as const) {
      const answer = await readStatistics(pool, { ...query, lists });
      expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(maxBytes);
      expect(Object.keys(answer.topPages ?? {}).length).toBeGreaterThan(5);
    }
    const rows = await readList(pool, { siteId, range, list: "topPages", limit: 1_000 });
    expect(Buffer.byteLength(writeCsv("topPages", rows))).toBeLessThanOrEqual(maxBytes);
  });
});
