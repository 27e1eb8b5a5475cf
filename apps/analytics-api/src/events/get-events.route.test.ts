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
