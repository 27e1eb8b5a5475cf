import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidV7Floor } from "@waymark/database";
import fc from "fast-check";
import type pg from "pg";
import { type PointSums, readDays } from "./days.query.js";
import { createKeptDays } from "./kept-days.js";
import { useSites } from "./statistics.fixture.js";

const day = "2026-03-15";
const midnight = Date.parse(day);
const minuteMs = 60_000;

describe("days that are kept", () => {
  const { pool, makeSite } = useSites();

  /** Stores an event and counts it, as recording does. */
  async function add(siteId: string, { atMs, visitor, type }: { atMs: number; visitor: number; type: string }) {
    const at = midnight + atMs;
    const id = uuidV7Floor(at).slice(0, 19) + randomUUID().slice(19);
    await pool.query(
      `WITH stored AS (
         INSERT INTO event (site_id, id, at, type, visitor, path, channel, name)
         VALUES ($1, $2, $3, $4, $5, '/', 'Direct', 'e') RETURNING type
       ), of_pages AS (
         INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
         SELECT $1, 'total', $6, '', 0, 1 FROM stored WHERE type = 'pageview'
         ON CONFLICT (site_id, dimension, day, value) DO UPDATE SET pageviews = daily_stat.pageviews + 1
       )
       INSERT INTO daily_event (site_id, day, name, property, value, count)
       SELECT $1, $6, 'e', '', '', 1 FROM stored WHERE type <> 'pageview'
       ON CONFLICT (site_id, day, name, property, value) DO UPDATE SET count = daily_event.count + 1`,
      [siteId, id, new Date(at), type, visitor, day],
    );
  }

  async function countsOf(siteId: string): Promise<PointSums> {
    const [point] = await readDays(pool, { siteId, first: day, last: day });
    if (!point) throw new Error("no day");
    return point;
  }

  /** Days that note the names of their statements, and the hours that these read. */
  function watch() {
    const asked: string[] = [];
    const query = (statement: { name: string; text: string; values: unknown[][] }) => {
      asked.push(`${statement.name} ${statement.name === "read-hours" ? statement.values[1]?.length : ""}`.trim());
      return pool.query(statement);
    };
    return { days: createKeptDays({ query } as unknown as pg.Pool), take: () => asked.splice(0) };
  }

  it("are not read again without a new event; then the hours that may have it, and all for a late one", async () => {
    const siteId = await makeSite();
    const { days, take } = watch();
    const at = (time: string) => new Date(`${day}T${time}Z`);
    const ask = async (time: string) => {
      const hours = await days.hours(siteId, await countsOf(siteId), at(time));
      await days.until(siteId, await countsOf(siteId), at(time));
      return hours.map(({ pageviews }) => pageviews).join("");
    };
    await add(siteId, { atMs: 30 * minuteMs, visitor: 1, type: "pageview" });
    expect(await ask("02:30:00")).toBe("100");
    expect(take()).toEqual(["read-hours 24", "read-visit-hours", "read-minutes", "read-visit-minutes"]);
    expect(await ask("03:31:00")).toBe("1000");
    expect(take()).toEqual(["read-visit-hours"]);
    await add(siteId, { atMs: 200 * minuteMs, visitor: 1, type: "pageview" });
    expect(await ask("03:31:00")).toBe("1001");
    expect(take()).toEqual(["read-hours 22", "read-visit-hours", "read-minutes", "read-visit-minutes"]);
    await add(siteId, { atMs: 10 * minuteMs, visitor: 2, type: "pageview" });
    expect(await ask("03:32:00")).toBe("2001");
    expect(take()).toEqual([
      "read-hours 21",
      "read-hours 24",
      "read-visit-hours",
      "read-minutes",
      "read-visit-minutes",
    ]);
  });

  it("equal days read anew, whenever events come", async () => {
    const event = fc.record({
      atMs: fc.integer({ min: 0, max: 1_440 * minuteMs - 1 }),
      visitor: fc.integer({ min: 1, max: 3 }),
      type: fc.constantFrom("pageview", "event"),
    });
    const steps = fc.array(fc.oneof(event, fc.integer({ min: 0, max: 1_440 })), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (inOrder) => {
        const siteId = await makeSite();
        const kept = createKeptDays(pool);
        for (const step of inOrder) {
          if (typeof step !== "number") {
            await add(siteId, step);
            continue;
          }
          const counts = await countsOf(siteId);
          const until = new Date(midnight + step * minuteMs);
          const anew = createKeptDays(pool);
          expect(await kept.hours(siteId, counts, until)).toEqual(await anew.hours(siteId, counts, until));
          expect(await kept.until(siteId, counts, until)).toEqual(await anew.until(siteId, counts, until));
          expect(await kept.until(siteId, counts, until)).toMatchObject(await recount(siteId, until));
        }
      }),
      { numRuns: 30 },
    );
  });

  async function recount(siteId: string, until: Date) {
    const { rows } = await pool.query(
      `SELECT count(DISTINCT visitor) FILTER (WHERE type = 'pageview') AS visitors,
         count(*) FILTER (WHERE type = 'pageview') AS pageviews, count(*) FILTER (WHERE type = 'event') AS events
       FROM event WHERE site_id = $1 AND at < $2`,
      [siteId, until],
    );
    return rows[0];
  }
});
