import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { browsers, useAnalytics } from "../analytics.fixture.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { readVisitFigures, recountVisitFigures } from "../recording/recount-visits.fixture.js";
import { makeSite } from "../recording/site.fixture.js";

const analytics = useAnalytics();
const day = "2026-05-01";

/** One thing that happened, by whichever way it comes in. */
const happening = fc.record({
  way: fc.constantFrom("first", "second", "import"),
  // Many within half an hour of each other, some at the end of a day.
  minute: fc.oneof(fc.integer({ min: 0, max: 180 }), fc.integer({ min: 1_380, max: 1_500 })),
  person: fc.integer({ min: 1, max: 4 }),
  browser: fc.constantFrom(...browsers),
  path: fc.constantFrom("/", "/a", "/b"),
  query: fc.constantFrom("", "?utm_source=x&utm_medium=email", "?utm_campaign=y"),
  referrer: fc.constantFrom(null, "https://www.google.com/", "https://some-site.org/z"),
  name: fc.option(fc.constantFrom("signup", "__proto__")),
  rare: fc.constantFrom("none", "none", "passive", "revenue", "engagement"),
  props: fc.option(fc.dictionary(fc.constantFrom("plan", "seats"), fc.oneof(fc.integer(), fc.constant("pro")))),
});

describe("two recorders and an import at once", () => {
  it("give the figures of a naive recount, and a rebuild finds no difference", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
        const site = await makeSite(analytics.pool);
        let clock = 0;
        const recorders = {
          first: analytics.openRecorder(() => clock),
          second: analytics.openRecorder(() => clock),
        };
        const work: Promise<unknown>[] = [];
        const lines: object[] = [];
        for (const { way, minute, person, browser, path, query, referrer, rare, name, props } of happenings) {
          const isEngagement = rare === "engagement";
          const revenue = rare === "revenue" ? { amount: "12.5", currency: "EUR" } : null;
          const at = Date.parse(`${day}T00:00:00Z`) + minute * 60_000;
          const ip = `192.0.2.${person}`;
          const url = `https://${site.domain}${path}${query}`;
          if (way === "import") {
            const own = { name, props, revenue, interactive: rare !== "passive", engaged_ms: 7, scroll_depth: 3 };
            const type = isEngagement ? "engagement" : name === null ? "pageview" : "event";
            lines.push({ ts: new Date(at).toISOString(), type, url, referrer, ip, user_agent: browser, ...own });
            continue;
          }
          clock = at;
          work.push(
            recorders[way].record({
              name: isEngagement ? "engagement" : (name ?? "pageview"),
              url: new URL(url),
              isHashPath: false,
              domains: [site.domain],
              referrer,
              props,
              revenue,
              isInteractive: rare !== "passive",
              engagement: { engagedMs: 7, scrollDepth: 3 },
              ip,
              userAgent: browser,
              country: null,
            }),
          );
        }
        await Promise.all([...work, analytics.load(site, lines)]);
        const rollups = await readRollups(analytics.pool, site.id);
        expect(rollups).toEqual(await recountRollups(analytics.pool, site.id));
        expect(await readVisitFigures(analytics.pool, site.id)).toEqual(
          await recountVisitFigures(analytics.pool, site.id),
        );
        const counts = Object.entries(rollups.stats).filter(([key]) => key.includes(" total "));
        const views = happenings.filter(({ name, rare }) => name === null && rare !== "engagement").length;
        expect(counts.reduce((sum, [, [, pageviews]]) => sum + pageviews, 0)).toBe(views);
        expect((await analytics.rebuild(site.id)).found).toEqual([]);
      }),
      randomRuns(6),
    );
  });
});
