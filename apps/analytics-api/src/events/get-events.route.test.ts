import { describe, expect, it } from "@jest/globals";
import { type Line, useApp } from "../app.fixture.js";

const event = (ts: string, name: string, props?: Record<string, unknown>): Line => ({
  ts,
  type: "event",
  name,
  props,
  visitor: "v",
});

describe("GET /api/v1/sites/:id/events", () => {
  const test = useApp();
  const now = new Date("2026-03-15T10:00:00Z");

  it("answers exactly the documented fields, for a site without events too", async () => {
    const account = await test.makeAccount();
    const siteId = await account.makeSite();
    await account.get(`/api/v1/sites/${siteId}/events`).expect(200, { range: "7d", events: [] });
  });

  it("counts occurrences and the values of each property, the most frequent event first", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      event("2026-03-15T01:00:00Z", "signup", { plan: "pro", seats: 3, trial: true }),
      event("2026-03-14T01:00:00Z", "signup", { plan: "free", seats: 3 }),
      event("2026-03-14T02:00:00Z", "signup", { plan: "pro" }),
      event("2026-03-14T03:00:00Z", "download"),
      event("2026-03-01T01:00:00Z", "signup", { plan: "pro" }),
      { ts: "2026-03-15T01:00:00Z", path: "/", visitor: "v" },
    ]);
    const { body } = await account.get(`/api/v1/sites/${siteId}/events?range=7d`).expect(200);
    expect(body).toEqual({
      range: "7d",
      events: [
        { name: "signup", count: 3, properties: { plan: { pro: 2, free: 1 }, seats: { "3": 2 }, trial: { true: 1 } } },
        { name: "download", count: 1, properties: {} },
      ],
    });
    expect((await account.get(`/api/v1/sites/${siteId}/events?range=today`)).body.events).toEqual([
      { name: "signup", count: 1, properties: { plan: { pro: 1 }, seats: { "3": 1 }, trial: { true: 1 } } },
    ]);
    expect((await account.get(`/api/v1/sites/${siteId}/events?range=30d`)).body.events[0].count).toBe(4);
  });

  it("holds the thousand most frequent events and values, counts the rest as (other), and keeps every total whole", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      ...Array.from({ length: 1_001 }, (_, n) => event("2026-03-15T01:00:00Z", "visit", { id: `v${n}` })),
      event("2026-03-15T02:00:00Z", "visit", { id: "v1000" }),
      ...Array.from({ length: 1_000 }, (_, n) => event("2026-03-15T01:00:00Z", `e${String(n).padStart(3, "0")}`)),
    ]);
    const { events } = (await account.get(`/api/v1/sites/${siteId}/events`).expect(200)).body;
    expect(events).toHaveLength(1_001);
    expect(events[0].count).toBe(1_002);
    const values = Object.entries(events[0].properties.id);
    expect([values.length, values[0], values.at(-1)]).toEqual([1_001, ["v1000", 2], ["(other)", 1]]);
    expect([events[1].name, events[999].name]).toEqual(["e000", "e998"]);
    expect(events[1_000]).toEqual({ name: "(other)", count: 1, properties: {} });
  });

  it("shows (other) last: among events, properties and values, and never cuts it off", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      ...Array.from({ length: 1_000 }, (_, n) => event("2026-03-15T01:00:00Z", "visit", { id: `v${n}` })),
      ...Array.from({ length: 1_000 }, (_, n) => event("2026-03-15T01:00:00Z", `e${String(n).padStart(3, "0")}`)),
    ]);
    await test.pool.query(
      `INSERT INTO daily_event (site_id, day, name, property, value, count)
       VALUES ($1, '2026-03-15', '(other)', '', '', 9000), ($1, '2026-03-15', 'visit', 'id', '(other)', 700),
         ($1, '2026-03-15', 'visit', '(other)', '(other)', 800)`,
      [siteId],
    );
    const { events } = (await account.get(`/api/v1/sites/${siteId}/events`).expect(200)).body;
    expect(events).toHaveLength(1_001);
    expect(events.at(-1)).toEqual({ name: "(other)", count: 9_001, properties: {} });
    expect(Object.keys(events[0].properties)).toEqual(["id", "(other)"]);
    expect(events[0].properties["(other)"]).toEqual({ "(other)": 800 });
    const values = Object.entries(events[0].properties.id);
    expect([values.length, values.at(-1)]).toEqual([1_001, ["(other)", 700]]);
  });

  it("survives names that mean something to JavaScript", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      event("2026-03-15T01:00:00Z", "__proto__", JSON.parse('{"__proto__":"constructor","toString":"__proto__"}')),
      event("2026-03-15T01:00:00Z", "constructor"),
    ]);
    const { text } = await account.get(`/api/v1/sites/${siteId}/events`).expect(200);
    expect(JSON.parse(text).events[0].name).toBe("__proto__");
    expect(text).toContain('"properties":{"__proto__":{"constructor":1},"toString":{"__proto__":1}}');
  });
});
