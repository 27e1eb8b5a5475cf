import { describe, expect, it } from "@jest/globals";
import { firefox, useApp } from "../app.fixture.js";

/** Addresses of these countries in the database of June 2026. */
const [us, gb, de] = ["8.8.8.8", "81.2.69.142", "2a02:8108::1"];

type Posted = { country: string | null; visitor: string };

async function collect(test: ReturnType<typeof useApp>, headers: Record<string, string>[]): Promise<Posted[]> {
  const { id, domain } = await test.makeSite();
  for (const each of headers) {
    const answer = await test.post({ n: "pageview", u: `https://${domain}/`, d: domain }, each);
    expect([answer.status, answer.headers["x-waymark-dropped"]]).toEqual([202, undefined]);
  }
  return (await test.readEvents(id)) as unknown as Posted[];
}

describe("who sent an event", () => {
  describe("without trusted proxies", () => {
    const test = useApp({ countryHeader: "CF-IPCountry" });

    it("is told by the connection, whatever headers claim", async () => {
      const events = await collect(test, [
        {},
        { "X-Forwarded-For": us },
        { "X-Forwarded-For": `${gb}, 127.0.0.1`, "CF-IPCountry": "FR", Forwarded: `for=${us}`, "X-Real-IP": us },
      ]);
      expect(events.map(({ country }) => country)).toEqual([null, null, null]);
      expect(new Set(events.map(({ visitor }) => visitor)).size).toBe(1);
    });

    it("is told apart by the browser too, of which a long description counts by its start", async () => {
      const long = `${firefox} ${"x".repeat(8_000)}`;
      const events = await collect(test, [
        {},
        { "User-Agent": long },
        { "User-Agent": `${long}y` },
        { "User-Agent": "" },
      ]);
      const [plain, one, two, none] = events.map(({ visitor }) => visitor);
      expect(one).toBe(two);
      expect(new Set([plain, one, none]).size).toBe(3);
    });
  });

  describe("behind a trusted proxy", () => {
    const test = useApp({ trustedProxies: ["loopback", "10.0.0.0/8"], countryHeader: "CF-IPCountry" });

    it("is told by the last address that no trusted proxy has, with its country", async () => {
      const events = await collect(test, [
        { "X-Forwarded-For": us },
        { "X-Forwarded-For": `${gb}, ${us}, 10.1.2.3` },
        { "X-Forwarded-For": `::ffff:${us}` },
        { "X-Forwarded-For": gb },
        { "X-Forwarded-For": de },
      ]);
      expect(events.map(({ country }) => country)).toEqual(["US", "US", "US", "GB", "DE"]);
      const [one, two, three, four] = events.map(({ visitor }) => visitor);
      expect([two, three]).toEqual([one, one]);
      expect(four).not.toBe(one);
    });

    it("is the connection's where the header holds no address", async () => {
      const events = await collect(test, [{}, { "X-Forwarded-For": "unknown" }, { "X-Forwarded-For": "<script>" }]);
      expect(new Set(events.map(({ visitor }) => visitor)).size).toBe(1);
    });

    it("has the country that the proxy names, and the database's where that is none", async () => {
      const headers = ["fr", "XX", "T1", "France", ""].map((country) => ({
        "X-Forwarded-For": us,
        "CF-IPCountry": country,
      }));
      expect((await collect(test, headers)).map(({ country }) => country)).toEqual(["FR", "US", "US", "US", "US"]);
    });
  });

  describe("behind a proxy that is not trusted", () => {
    const test = useApp({ trustedProxies: ["192.0.2.1"], countryHeader: "CF-IPCountry" });

    it("is told by the connection", async () => {
      const [event] = await collect(test, [{ "X-Forwarded-For": us, "CF-IPCountry": "FR" }]);
      expect(event?.country).toBeNull();
    });
  });
});
