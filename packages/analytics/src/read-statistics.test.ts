import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { readCustomEvents } from "./read-custom-events.query.js";
import { readStats } from "./read-stats.query.js";
import { recordEvents } from "./record-events.query.js";
import type { SiteEvent } from "./site-event.js";
import { inTransaction } from "./transaction.js";

const database = useDatabase();
const uuid = createUuidV7();
const now = new Date("2026-05-31T23:59:59.999Z");

async function record(siteId: string, events: readonly Partial<SiteEvent>[]) {
  const client = await database.pool.connect();
  try {
    const whole = events.map(
      (event): SiteEvent => ({
        id: uuid(),
        at: "2026-05-31T12:00:00.000000Z",
        type: "pageview",
        visitor: 1n,
        path: "/",
        referrer: null,
        source: null,
        channel: "Direct",
        country: null,
        name: null,
        props: null,
        ...event,
      }),
    );
    await inTransaction(client, () => recordEvents(client, siteId, whole));
  } finally {
    client.release();
  }
}

describe("readStats", () => {
  it("answers zeros and empty lists for a site without events", async () => {
    expect(await readStats(database.pool, uuid(), "7d", 10, now)).toEqual({
      range: "7d",
      pageviews: 0,
      uniqueVisitors: 0,
      topPages: [],
      topReferrers: [],
      topCountries: [],
      channels: {},
    });
  });

  it("adds up the daily visitors of a range, and knows its first and last moments", async () => {
    const site = uuid();
    const at = [
      "2026-05-01T23:59:59.999999Z",
      "2026-05-02T00:00:00.000000Z",
      "2026-05-24T23:59:59.999999Z",
      "2026-05-25T00:00:00.000000Z",
      "2026-05-30T23:59:59.999999Z",
      "2026-05-31T00:00:00.000000Z",
      "2026-05-31T23:59:59.999999Z",
      "2026-06-01T00:00:00.000000Z",
    ];
    await record(
      site,
      at.map((each) => ({ at: each })),
    );
    const of = async (range: "today" | "7d" | "30d", moment = now) => {
      const { pageviews, uniqueVisitors } = await readStats(database.pool, site, range, 10, moment);
      return [uniqueVisitors, pageviews];
    };
    expect(await of("today")).toEqual([1, 2]);
    expect(await of("7d")).toEqual([3, 4]);
    expect(await of("30d")).toEqual([5, 6]);
    expect(await of("today", new Date("2026-06-01T00:00:00.000Z"))).toEqual([1, 1]);
    expect(await of("30d", new Date("2026-06-01T00:00:00.000Z"))).toEqual([5, 6]);
  });

  it("orders by visitors, then page views where the list has them, then the value by bytes", async () => {
    const site = uuid();
    const view = (path: string, visitor: bigint) => ({ path, source: path, country: path, visitor });
    await record(site, [
      ...[view("/two", 1n), view("/two", 2n)],
      ...[view("/b", 1n), view("/b", 1n), view("/b", 1n)],
      ...[view("/a", 1n), view("/ä", 1n), view("/B", 1n)],
    ]);
    const stats = await readStats(database.pool, site, "today", 10, now);
    expect(stats.topPages.map(({ path }) => path)).toEqual(["/two", "/b", "/B", "/a", "/ä"]);
    expect(stats.topPages[1]).toEqual({ path: "/b", visitors: 1, pageviews: 3 });
    expect(stats.topReferrers.map(({ source }) => source)).toEqual(["/two", "/B", "/a", "/b", "/ä"]);
    expect(stats.topReferrers[0]).toEqual({ source: "/two", visitors: 2 });
    expect(stats.topCountries.map(({ country }) => country)).toEqual(["/two", "/B", "/a", "/b", "/ä"]);
    expect((await readStats(database.pool, site, "today", 2, now)).topPages).toHaveLength(2);
  });

  it("orders channels by visitors and leaves none out, whatever the limit", async () => {
    const site = uuid();
    await record(site, [
      { channel: "Direct" },
      { channel: "Search", visitor: 1n },
      { channel: "Search", visitor: 2n },
      { channel: "Email" },
      { channel: "Email" },
    ]);
    const { channels } = await readStats(database.pool, site, "today", 1, now);
    expect(Object.entries(channels)).toEqual([
      ["Search", { visitors: 2, pageviews: 2 }],
      ["Email", { visitors: 1, pageviews: 2 }],
      ["Direct", { visitors: 1, pageviews: 1 }],
    ]);
  });

  it("reads rollups by their key alone", async () => {
    const site = uuid();
    await record(
      site,
      Array.from({ length: 2_000 }, (_, i) => ({ path: `/${i}` })),
    );
    await database.pool.query("DELETE FROM event WHERE site_id = $1", [site]);
    expect((await readStats(database.pool, site, "today", 1_000, now)).topPages).toHaveLength(1_000);
  });
});

describe("readCustomEvents", () => {
  it("counts events and their properties' values over a range", async () => {
    const site = uuid();
    const event = { type: "event" as const, path: null };
    await record(site, [
      { ...event, name: "b", props: { plan: "pro", seats: 3 } },
      { ...event, name: "b", props: { plan: "pro" }, at: "2026-05-25T00:00:00.000000Z" },
      { ...event, name: "b", props: { plan: "free" }, at: "2026-05-24T23:59:59.999999Z" },
      { ...event, name: "a" },
      { ...event, name: "c", at: "2026-06-01T00:00:00.000000Z" },
    ]);
    expect(await readCustomEvents(database.pool, site, "7d", now)).toEqual({
      range: "7d",
      events: [
        { name: "b", count: 2, properties: { plan: { pro: 2 }, seats: { "3": 1 } } },
        { name: "a", count: 1, properties: {} },
      ],
    });
    const month = await readCustomEvents(database.pool, site, "30d", now);
    expect(month.events[0]).toEqual({
      name: "b",
      count: 3,
      properties: { plan: { pro: 2, free: 1 }, seats: { "3": 1 } },
    });
    expect(await readCustomEvents(database.pool, uuid(), "today", now)).toEqual({ range: "today", events: [] });
  });

  it("keeps names that JavaScript treats apart", async () => {
    const site = uuid();
    const props = JSON.parse('{"__proto__":"__proto__","constructor":"toString","length":""}');
    await record(site, [{ type: "event", name: "__proto__", props }]);
    const answer = JSON.stringify(await readCustomEvents(database.pool, site, "today", now));
    expect(answer).toBe(
      '{"range":"today","events":[{"name":"__proto__","count":1,"properties":{"__proto__":{"__proto__":1},"constructor":{"toString":1},"length":{"":1}}}]}',
    );
  });

  it("holds the thousand most frequent values of a property", async () => {
    const site = uuid();
    await record(
      site,
      Array.from({ length: 1_100 }, (_, i) => ({
        type: "event" as const,
        name: "n",
        props: { id: `v${i % 1_050}`, x: i },
      })),
    );
    const { events } = await readCustomEvents(database.pool, site, "today", now);
    expect(events[0]?.count).toBe(1_100);
    expect(Object.values(events[0]?.properties["id"] ?? {})).toEqual([...Array(50).fill(2), ...Array(950).fill(1)]);
    expect(Object.keys(events[0]?.properties["x"] ?? {})).toHaveLength(1_000);
  });
});
