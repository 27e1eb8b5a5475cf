import { describe, expect, it } from "@jest/globals";
import { createPool } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { WriterFullError } from "../recording/site-commit.js";
import { type Beacon, createRecorder } from "./recorder.js";

const database = useDatabase();
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0";
const now = Date.parse("2026-05-01T12:00:00Z");

const beacon = (domain: string, change: Partial<Beacon> = {}): Beacon => ({
  name: "pageview",
  url: new URL(`https://${domain}/a?utm_source=weekly&utm_medium=email`),
  isHashPath: false,
  domains: [domain],
  referrer: "https://www.google.com/",
  props: null,
  ip: "192.0.2.1",
  userAgent: firefox,
  country: "DE",
  ...change,
});

const open = (options: { maxWaiting?: number; now?: () => number } = {}) =>
  createRecorder({ pool: database.pool, now: () => now, ...options });

const readEvents = async (siteId: string) =>
  (await database.pool.query("SELECT * FROM event WHERE site_id = $1 ORDER BY id", [siteId])).rows;

describe("collecting", () => {
  it("resolves once the event is committed, with all that is worked out of it", async () => {
    const site = await makeSite(database.pool);
    expect(await open().record(beacon(site.domain))).toEqual({ dropped: null });
    const [event] = await readEvents(site.id);
    expect(event).toMatchObject({
      type: "pageview",
      path: "/a",
      source: "weekly",
      channel: "Email",
      country: "DE",
      browser: "Firefox",
      os: "Linux",
      device: "desktop",
      utm_source: "weekly",
      utm_medium: "email",
      name: null,
    });
    expect(event.at).toEqual(new Date(now));
    expect(JSON.stringify(event)).not.toMatch(/192\.0\.2|Mozilla/);
    expect((await readRollups(database.pool, site.id)).stats["2026-05-01 browser Firefox"]).toEqual([1, 1]);
  });

  it("gives an event the id of its own time, however the clock steps meanwhile", async () => {
    const site = await makeSite(database.pool);
    let reads = 0;
    const recorder = open({ now: () => now + (reads++ % 2) * 7_200_000 });
    for (let n = 0; n < 4; n++) await recorder.record(beacon(site.domain));
    const events = await readEvents(site.id);
    expect(events).toHaveLength(4);
    for (const { id, at } of events) {
      const millis = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
      expect(Math.abs(millis - at.getTime())).toBeLessThan(10);
    }
  });

  it("tells visitors apart by address and browser within a day", async () => {
    const site = await makeSite(database.pool);
    const recorder = open();
    for (const change of [{}, {}, { ip: "192.0.2.2" }, { userAgent: `${firefox} x` }]) {
      await recorder.record(beacon(site.domain, change));
    }
    expect((await readRollups(database.pool, site.id)).stats["2026-05-01 total "]).toEqual([3, 4]);
  });

  it("records a custom event with its properties, and keeps hash paths apart where asked to", async () => {
    const site = await makeSite(database.pool);
    const recorder = open();
    await recorder.record(beacon(site.domain, { name: "signup", props: { plan: "pro" } }));
    await recorder.record(
      beacon(site.domain, { url: new URL(`https://${site.domain}/app#/settings`), isHashPath: true }),
    );
    const { events, stats } = await readRollups(database.pool, site.id);
    expect(events).toMatchObject({ "2026-05-01 signup  ": 1, "2026-05-01 signup plan pro": 1 });
    expect(stats["2026-05-01 page /app#/settings"]).toEqual([1, 1]);
  });

  it("drops what names no site of ours, and bots", async () => {
    const site = await makeSite(database.pool);
    const recorder = open();
    expect(await recorder.record(beacon("unknown.example"))).toEqual({ dropped: "unknown-domain" });
    const bot = beacon(site.domain, { userAgent: "Mozilla/5.0 (compatible; Googlebot/2.1)" });
    expect(await recorder.record(bot)).toEqual({ dropped: "bot" });
    expect(await readEvents(site.id)).toEqual([]);
  });

  it("finds a site with www. and in any case, and records for each site that is named", async () => {
    const [one, two] = [await makeSite(database.pool), await makeSite(database.pool)];
    const recorder = open();
    await recorder.record(beacon(one.domain, { domains: [`WWW.${one.domain.toUpperCase()}`, two.domain, two.domain] }));
    expect([(await readEvents(one.id)).length, (await readEvents(two.id)).length]).toEqual([1, 1]);
  });

  it("loses nothing and counts nobody twice with many at once on two recorders", async () => {
    const sites = await Promise.all([makeSite(database.pool), makeSite(database.pool), makeSite(database.pool)]);
    const recorders = [open(), open()];
    await Promise.all(
      Array.from({ length: 600 }, (_, n) => {
        const site = sites[n % 3] ?? { domain: "" };
        const change = { ip: `192.0.2.${n % 7}`, url: new URL(`https://x.example/${n % 5}`) };
        return recorders[n % 2]?.record(beacon(site.domain, change));
      }),
    );
    for (const site of sites) {
      const rollups = await readRollups(database.pool, site.id);
      expect(rollups.stats["2026-05-01 total "]).toEqual([7, 200]);
      expect(rollups).toEqual(await recountRollups(database.pool, site.id));
    }
  });

  it("refuses what is too much to wait, and what comes after it was drained", async () => {
    const site = await makeSite(database.pool);
    const recorder = open({ maxWaiting: 5 });
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => recorder.record(beacon(site.domain))));
    const refused = results.filter((it) => it.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const it of refused) expect(it).toMatchObject({ reason: expect.any(WriterFullError) });
    expect((await readEvents(site.id)).length).toBe(50 - refused.length);
    await recorder.drain();
    await expect(recorder.record(beacon(site.domain))).rejects.toThrow(WriterFullError);
  });

  it("rejects while the database cannot be reached, and goes on afterwards", async () => {
    const nobody = createPool({
      connectionString: "postgres://x@127.0.0.1:1/x",
      maxConnections: 1,
      applicationName: "test",
      statementTimeoutMs: 1_000,
    });
    await expect(createRecorder({ pool: nobody }).record(beacon("a.example"))).rejects.toThrow(/ECONNREFUSED/);
    await nobody.end();
  });
});
