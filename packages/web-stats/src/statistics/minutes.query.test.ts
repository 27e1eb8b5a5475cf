import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidV7Floor } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import type pg from "pg";
import { createKeptDays, readDays } from "./days.query.js";
import { useSites } from "./statistics.fixture.js";

const day = "2026-03-15";
const midnight = Date.parse(day);
const minuteMs = 60_000;

interface Given {
  atMs: number;
  visitor: number;
  type: "pageview" | "event" | "engagement";
}

describe("days that are kept", () => {
  const { pool, makeSite } = useSites();

  /** Stores an event and counts it, as recording does. A view is a visit of its own, and engagement prolongs the visitor's. */
  async function add(siteId: string, { atMs, visitor, type }: Given) {
    const at = midnight + atMs;
    const id = uuidV7Floor(at).slice(0, 19) + randomUUID().slice(19);
    const [isView, isEngagement] = [type === "pageview", type === "engagement"];
    await pool.query(
      `INSERT INTO event (site_id, id, at, type, visitor, path, channel, name)
       VALUES ($1, $2, $3, $4, $5, '/', 'Direct', 'e')`,
      [siteId, id, new Date(at), type, visitor],
    );
    await pool.query(
      `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, events, engagements)
       VALUES ($1, 'total', $2, '', 0, $3, $4, $5) ON CONFLICT (site_id, dimension, day, value) DO UPDATE
       SET pageviews = daily_stat.pageviews + $3, events = daily_stat.events + $4, engagements = daily_stat.engagements + $5`,
      [siteId, day, isView ? 1 : 0, type === "event" ? 1 : 0, isEngagement ? 1 : 0],
    );
    if (type === "event") {
      await pool.query(
        `INSERT INTO daily_event (site_id, day, name, property, value, count) VALUES ($1, $2, 'e', '', '', 1)
         ON CONFLICT (site_id, day, name, property, value) DO UPDATE SET count = daily_event.count + 1`,
        [siteId, day],
      );
      return;
    }
    await pool.query(
      isView
        ? `INSERT INTO visit (site_id, day, visitor, first_us, last_us, entry_us, entry_id, views, events, passive_events, channel, viewed)
           VALUES ($1, $2, $3, $4, $4, $4, gen_random_uuid(), 1, 0, 0, 'Direct', '{}') ON CONFLICT DO NOTHING`
        : "UPDATE visit SET end_us = first_us + $4 WHERE site_id = $1 AND day = $2 AND visitor = $3",
      [siteId, day, visitor, atMs * 1_000],
    );
  }

  async function pointOf(siteId: string) {
    const [point] = await readDays(pool, { siteId, first: day, last: day });
    if (!point) throw new Error("no day");
    return point;
  }

  it("are not read again without a new event, and are after one of any type", async () => {
    const siteId = await makeSite();
    let asked = 0;
    const query = (statement: unknown) => {
      asked++;
      return pool.query(statement as string);
    };
    const days = createKeptDays({ query } as unknown as pg.Pool);
    const isRead = async (time: string) => {
      const before = asked;
      const sums = await days.until(siteId, await pointOf(siteId), new Date(`${day}T${time}Z`));
      return [asked > before, sums.pageviews, sums.events, sums.visit_us / 1_000_000];
    };
    await add(siteId, { atMs: 30 * minuteMs, visitor: 1, type: "pageview" });
    expect(await isRead("02:30:00")).toEqual([true, 1, 0, 0]);
    expect(await isRead("00:30:00")).toEqual([false, 0, 0, 0]);
    await add(siteId, { atMs: 31 * minuteMs, visitor: 1, type: "event" });
    expect(await isRead("02:30:00")).toEqual([true, 1, 1, 0]);
    await add(siteId, { atMs: minuteMs, visitor: 1, type: "engagement" });
    expect(await isRead("02:30:00")).toEqual([true, 1, 1, 60]);
    expect(await isRead("02:31:00")).toEqual([false, 1, 1, 60]);
  });

  it("equal days read anew, whenever events come", async () => {
    const event = fc.record({
      atMs: fc.integer({ min: 0, max: 1_440 * minuteMs - 1 }),
      visitor: fc.integer({ min: 1, max: 3 }),
      type: fc.constantFrom<Given["type"]>("pageview", "event", "engagement"),
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
          const point = await pointOf(siteId);
          const until = new Date(midnight + step * minuteMs);
          const anew = createKeptDays(pool);
          expect(await kept.until(siteId, point, until)).toEqual(await anew.until(siteId, point, until));
        }
      }),
      randomRuns(10),
    );
  });
});
