import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { testWork, useSites } from "../statistics.fixture.js";
import { collectParts, type DayRow, PartCollector, visitorBounds } from "./collect-part.js";
import { createDayColumns } from "./day-columns.js";
import type { DayPart } from "./day-part.js";
import { readPart, writePart } from "./part-blocks.js";
import { storeDays } from "./store-days.js";

const dimensions = (entry: string) => [entry, entry, null, "Direct", ...Array<null>(7).fill(null)];
const visit = (visitor: string, firstUs: number, lastUs: number): DayRow => [
  ...([visitor, firstUs, lastUs, lastUs - firstUs, false] as const),
  ...dimensions("/"),
];
const view = (visitor: string, us: number, path = "/"): DayRow => [
  visitor,
  us,
  null,
  null,
  null,
  null,
  path,
  null,
  null,
];

async function* inBatches<Row>(rows: readonly Row[], size = 2): AsyncGenerator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

async function collect(visits: readonly DayRow[], events: readonly DayRow[], maxEvents?: number) {
  const rows = [...visits, ...events].sort(([a, one], [b, other]) => Number(a) - Number(b) || one - other);
  const parts: DayPart[] = [];
  for await (const part of collectParts(inBatches(rows), maxEvents ? { maxEvents } : {})) parts.push(part);
  return parts;
}

describe("the parts of a day", () => {
  it("hold a visitor whole, and leave out events of no visit", async () => {
    const visits = [visit("-5", 0, 10), visit("-5", 50, 60), visit("3", 0, 0), visit("20", 7, 7)];
    const events = [
      ...[view("-9", 1), view("-5", 0), view("-5", 10), view("-5", 30), view("-5", 50), view("-5", 60)],
      ...[view("3", 0), view("4", 0), view("20", 7), view("20", 8)],
    ];
    const parts = await collect(visits, events, 3);
    expect(parts.map(({ visitors, visits, events }) => [visitors, visits.count, events.count])).toEqual([
      [1, 2, 4],
      [2, 2, 2],
    ]);
    expect([...(parts[0]?.visits.firstEvent ?? [])]).toEqual([0, 2, 4]);
  });

  it("leave out a visitor's events beyond their bound", async () => {
    const events = Array.from({ length: visitorBounds.events + 5 }, (_, n) => view("1", n));
    const [part] = await collect([visit("1", 0, events.length), visit("2", 0, 0)], [...events, view("2", 0)]);
    expect(part?.events.count).toBe(visitorBounds.events + 1);
  });

  it("are the same after they were stored", async () => {
    const value = fc.option(fc.string({ unit: "binary", maxLength: 3 }));
    const drawn = fc.array(fc.record({ us: fc.nat(86_399_999_999), name: value, path: value, host: value }), {
      maxLength: 300,
    });
    await fc.assert(
      fc.asyncProperty(drawn, fc.integer({ min: 1, max: 9 }), fc.boolean(), async (events, perVisit, isWholeMs) => {
        const collector = new PartCollector();
        for (const [index, { us, name, path, host }] of events.entries()) {
          const at = isWholeMs ? us - (us % 1_000) : us;
          if (index % perVisit === 0) {
            collector.addVisit([
              String(index % 7),
              0,
              at,
              at,
              index % 2 === 0,
              path,
              host,
              ...Array<string | null>(9).fill(name),
            ]);
          }
          collector.addEvent([String(index % 7), at, null, null, null, name, path, host, null, null]);
        }
        const part = collector.finish();
        expect(await readPart(await writePart(part), testWork())).toEqual(part);
      }),
    );
  });
});

describe("the columns of a site", () => {
  const { pool, makeSite } = useSites();

  /** A day of one visitor with so many page views. */
  async function addDay(siteId: string, day: string, views: number): Promise<void> {
    const total = `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews) VALUES ($1, 'total', $2, '', 1, $3)
      ON CONFLICT (site_id, dimension, day, value) DO UPDATE SET pageviews = $3`;
    await pool.query(total, [siteId, day, views]);
    const row = `INSERT INTO visit (site_id, day, visitor, first_us, last_us, entry_us, entry_id, views, events, channel, viewed)
      VALUES ($1, $2, 7, 0, $3, 0, $4, $5, 0, 'Direct', '{}') ON CONFLICT (site_id, day, visitor, first_us) DO UPDATE SET views = $5, last_us = $3`;
    await pool.query(row, [siteId, day, (views - 1) * 1_000_000, randomUUID(), views]);
    const event = `INSERT INTO event (site_id, id, at, type, visitor, path, channel)
      VALUES ($1, uuid_floor($2::timestamptz), $2, 'pageview', 7, '/', 'Direct') ON CONFLICT DO NOTHING`;
    for (let n = 0; n < views; n++) await pool.query(event, [siteId, new Date(Date.parse(day) + n * 1_000)]);
  }

  async function countViews(columns: ReturnType<typeof createDayColumns>, siteId: string): Promise<[string, number][]> {
    const counts: [string, number][] = [];
    const days = { first: "2026-03-01", last: "2026-03-31" };
    let count = 0;
    await columns.open("account").read(
      { siteId, days, needs: {} },
      async ({ part }) => {
        count += part.events.count;
      },
      async (day) => {
        counts.push([day, count]);
        count = 0;
      },
    );
    return counts;
  }

  it("are of the present events: stored, made, and made again after a change", async () => {
    const siteId = await makeSite();
    for (const [day, views] of [
      ["2026-03-01", 2],
      ["2026-03-05", 3],
      ["2026-03-06", 1],
    ] as const)
      await addDay(siteId, day, views);
    const stored = () => storeDays(pool, { siteIds: [siteId], before: "2026-03-06" });
    expect([await stored(), await stored()]).toEqual([2, 0]);
    const columns = createDayColumns({ pool, maxBytes: 1_000_000 });
    const before = [
      ["2026-03-01", 2],
      ["2026-03-05", 3],
      ["2026-03-06", 1],
    ];
    expect([await countViews(columns, siteId), await countViews(columns, siteId)]).toEqual([before, before]);
    await addDay(siteId, "2026-03-05", 4);
    await addDay(siteId, "2026-03-06", 2);
    const after = [
      ["2026-03-01", 2],
      ["2026-03-05", 4],
      ["2026-03-06", 2],
    ];
    expect(await countViews(columns, siteId)).toEqual(after);
    expect(await stored()).toBe(1);
    // Bytes in the store, not the events, answer a service without anything in memory.
    await pool.query("DELETE FROM event WHERE site_id = $1 AND at < '2026-03-06'", [siteId]);
    expect(await countViews(createDayColumns({ pool, maxBytes: 1 }), siteId)).toEqual(after);
  });
});
