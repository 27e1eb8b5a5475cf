import { describe, expect, it } from "@jest/globals";
import { browsers, bytesOf, useAnalytics } from "../analytics.fixture.js";
import { readRollups } from "../recording/recount.fixture.js";
import { readVisitFigures } from "../recording/recount-visits.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { importEvents } from "./import-events.js";

const analytics = useAnalytics();
const day = "2026-05-01";

describe("an export", () => {
  it("imports into another site as the same figures, and into its own as nothing new", async () => {
    const [from, to] = [await makeSite(analytics.pool), await makeSite(analytics.pool)];
    const recorder = analytics.openRecorder(() => Date.parse(`${day}T12:00:00Z`));
    for (const [n, browser] of browsers.entries()) {
      await recorder.record({
        name: n === 2 ? "signup" : "pageview",
        url: new URL(`https://${from.domain}/ü?utm_source=x&utm_medium=cpc&gclid=1#/route`),
        isHashPath: true,
        domains: [from.domain],
        referrer: "https://www.google.com/",
        props: n === 2 ? { "a.b": 'quo"te', n: 1.5, yes: true } : null,
        ip: "192.0.2.1",
        userAgent: browser,
        country: "DE",
      });
    }
    const beacon = {
      url: new URL(`https://${from.domain}/`),
      isHashPath: false,
      domains: [from.domain],
      referrer: null,
    };
    const client = { props: null, ip: "192.0.2.1", userAgent: browsers[0] ?? "", country: null };
    const rare = [
      { name: "engagement", engagement: { engagedMs: 1_500, scrollDepth: 100 } },
      { name: "buy", revenue: { amount: "-123456789012345678.10305", currency: "EUR" } },
      { name: "Outbound Link: Click", isInteractive: false },
    ];
    for (const each of rare) await recorder.record({ ...beacon, ...client, ...each });
    await analytics.load(from, [
      { ts: "1999-12-31T23:59:59.123456Z", path: "/old", visitor: "x" },
      { ts: `${day}T01:00:00Z`, path: "/" },
    ]);
    const text = await analytics.exportText(from.id);
    expect(text.split("\n").filter(Boolean)).toHaveLength(8);
    const input = () => bytesOf(text);
    expect(await importEvents({ pool: analytics.directPool, site: to, input: input() })).toEqual({
      imported: 8,
      rejected: 0,
      duplicates: 0,
      bots: 0,
      machines: 0,
    });
    expect(await readRollups(analytics.pool, to.id)).toEqual(await readRollups(analytics.pool, from.id));
    expect(await importEvents({ pool: analytics.directPool, site: from, input: input() })).toMatchObject({
      imported: 0,
      duplicates: 8,
    });
    const rowsOf = async ({ id }: { id: string }) =>
      (
        await analytics.pool.query(
          "SELECT to_jsonb(event) - 'site_id' - 'visitor' AS event FROM event WHERE site_id = $1 ORDER BY id",
          [id],
        )
      ).rows;
    expect(await rowsOf(to)).toEqual(await rowsOf(from));
    expect(await readVisitFigures(analytics.pool, to.id)).toEqual(await readVisitFigures(analytics.pool, from.id));
    expect(text).toContain('"revenue":{"amount":"-123456789012345678.10305","currency":"EUR"}');
    expect(text).toContain('"ts":"1999-12-31T23:59:59.123456Z"');
  });
});
