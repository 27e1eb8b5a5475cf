import { describe, expect, it } from "@jest/globals";
import { browsers, bytesOf, useAnalytics } from "../analytics.fixture.js";
import { writeCombinedLine } from "../formats/combined-log.fixture.js";
import { readRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { importEvents } from "./import-events.js";

const analytics = useAnalytics();
const [userAgent = ""] = browsers;

describe("importEvents of a log", () => {
  it("knows the visitor that the collector saw on that day", async () => {
    const site = await makeSite(analytics.pool);
    const now = () => Date.parse("2026-05-01T12:00:00Z");
    const ip = "192.0.2.1";
    await analytics.openRecorder(now).record({
      name: "pageview",
      url: new URL(`https://${site.domain}/a`),
      isHashPath: false,
      domains: [site.domain],
      referrer: null,
      props: null,
      ip,
      userAgent,
      country: null,
    });
    const request = { ts: "2026-05-01T12:10:00Z", path: "/b", referrer: null, userAgent };
    const lines = [`::ffff:${ip}`, "192.0.2.2"].map((each) => writeCombinedLine({ ...request, ip: each }));
    await importEvents({ pool: analytics.directPool, site, input: bytesOf(lines.join("\n")), now });
    const { stats } = await readRollups(analytics.pool, site.id);
    expect(stats["2026-05-01 total "]).toEqual([2, 3]);
  });

  it("keeps the host that a line names", async () => {
    const site = await makeSite(analytics.pool);
    const request = { client_ip: "192.0.2.1", method: "GET", host: "Docs.Example.COM:8443", uri: "/a", tls: {} };
    const line = JSON.stringify({ ts: 1_777_636_800.5, msg: "handled request", request, status: 200 });
    await importEvents({ pool: analytics.directPool, site, input: bytesOf(line), format: "caddy-json" });
    const { stats } = await readRollups(analytics.pool, site.id);
    expect(stats["2026-05-01 host docs.example.com"]).toEqual([1, 1]);
  });

  it("gives the same events however its bytes are cut", async () => {
    const [one, two] = [await makeSite(analytics.pool), await makeSite(analytics.pool)];
    const request = { ts: "2026-05-01T12:10:00Z", ip: "192.0.2.1", referrer: null, userAgent };
    const text = Array.from({ length: 120 }, (_each, n) => writeCombinedLine({ ...request, path: `/ü${n}` })).join(
      "\r\n",
    );
    async function* byByte(): AsyncGenerator<Buffer> {
      for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
    }
    const pool = analytics.directPool;
    await importEvents({ pool, site: one, input: bytesOf(text) });
    expect(await importEvents({ pool, site: two, input: byByte() })).toMatchObject({ imported: 120 });
    const figures = (await readRollups(pool, one.id)).stats;
    expect((await readRollups(pool, two.id)).stats).toEqual(figures);
  });
});
