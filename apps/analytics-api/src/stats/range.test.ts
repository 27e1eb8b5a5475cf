import { describe, expect, it } from "@jest/globals";
import { type Line, useApp } from "../app.fixture.js";

const now = new Date("2026-03-15T10:00:00Z");

/** A page view and a custom event at each moment. */
const linesAt = (...moments: string[]): Line[] =>
  moments.flatMap((ts) => [
    { ts, visitor: ts, path: "/" },
    { ts, type: "event", name: "signup", visitor: ts },
  ]);

describe("from and to", () => {
  const test = useApp();

  describe("200", () => {
    it("take whole UTC days, the first and the last included, and are named in the answer", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite(
        linesAt(
          "2024-02-27T23:59:59.999Z",
          "2024-02-28T00:00:00Z",
          "2024-02-29T12:00:00Z",
          "2024-03-01T23:59:59.999Z",
          "2024-03-02T00:00:00Z",
        ),
      );
      const query = "from=2024-02-28&to=2024-03-01";
      const stats = await account.get(`/api/v1/sites/${siteId}/stats?${query}`).expect(200);
      expect(stats.body).toEqual({
        range: "custom",
        from: "2024-02-28",
        to: "2024-03-01",
        pageviews: 3,
        uniqueVisitors: 3,
        topPages: [{ path: "/", visitors: 3, pageviews: 3 }],
        topReferrers: [],
        topCountries: [],
        channels: { Direct: { visitors: 3, pageviews: 3 } },
      });
      await account.get(`/api/v1/sites/${siteId}/events?${query}`).expect(200, {
        range: "custom",
        from: "2024-02-28",
        to: "2024-03-01",
        events: [{ name: "signup", count: 3, properties: {} }],
      });
      const oneDay = await account.get(`/api/v1/sites/${siteId}/stats?from=2024-02-29&to=2024-02-29`).expect(200);
      expect(oneDay.body.pageviews).toBe(1);
    });

    it.each([
      ["from=2024-01-01&to=2024-12-31", "the 366 days of a leap year"],
      ["from=2025-03-15&to=2026-03-15", "366 days over a year's end"],
      ["from=1970-01-01&to=1970-01-01", "the first day that can be imported"],
      ["from=9999-12-31&to=9999-12-31", "the last one"],
    ])("allow %s: %s", async (query) => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      const more = "interval=day&compare=previous";
      const stats = await account.get(`/api/v1/sites/${siteId}/stats?${query}&${more}`).expect(200);
      const { from, to } = Object.fromEntries(new URLSearchParams(query));
      expect([stats.body.series[0].day, stats.body.series.at(-1).day]).toEqual([from, to]);
      await account.get(`/api/v1/sites/${siteId}/events?${query}`).expect(200);
    });
  });

  describe("400", () => {
    const notDay = "Must be a day as YYYY-MM-DD, 1970-01-01 or later";
    const tooLong = "Must be so that from and to span at most 366 days, both included";
    it.each([
      ["from=2026-01-01", { to: "Required together with from" }],
      ["to=2026-01-01", { from: "Required together with to" }],
      ["from=2026-01-02&to=2026-01-01", { to: "Must not be before from" }],
      ["from=2025-01-01&to=2026-01-02", { to: tooLong }],
      ["from=1970-01-01&to=9999-12-31", { to: tooLong }],
      ["from=2026-01-01&to=2026-01-02&range=7d", { range: "Must not be given together with from and to" }],
      [
        "from=2026-01-01&range=today",
        { range: "Must not be given together with from and to", to: "Required together with from" },
      ],
      ["from=2026-02-29&to=2026-03-01", { from: notDay }],
      ["from=2026-13-01&to=2026-3-1", { from: notDay, to: notDay }],
      ["from=&to=2026-03-01", { from: notDay }],
      ["from=0000-01-01&to=1969-12-31", { from: notDay, to: notDay }],
      ["from=2026-01-01T00:00:00Z&to=+2026-01-01", { from: notDay, to: notDay }],
      ["from=2026-01-01&from=2026-01-01&to=2026-01-01", { from: notDay }],
      ["from=10000-01-01&to=today", { from: notDay, to: notDay }],
    ])("for %s", async (query, fields) => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      for (const path of [`${siteId}/stats`, `${siteId}/events`, "unknown/stats"]) {
        await account.get(`/api/v1/sites/${path}?${query}`).expect(400, { error: "Validation failed", fields });
      }
    });
  });
});
