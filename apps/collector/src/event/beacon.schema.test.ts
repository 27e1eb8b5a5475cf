import { describe, expect, it } from "@jest/globals";
import type { JsonBody } from "@waymark/service/http";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { beaconBody, readPageview } from "./beacon.schema.js";

const text = fc.string({ unit: "binary", maxLength: 12 });
const mostly = (usual: unknown, ...others: unknown[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom<unknown>(...others));
const oneOf = (...values: unknown[]) => fc.constantFrom<unknown>(...values);
const body = fc.record<JsonBody>(
  {
    name: mostly("pageview", "signup", "engagement", 1),
    url: fc.oneof(
      {
        weight: 3,
        arbitrary: oneOf("https://Example.com/a?utm_source=x#y", "http://[::1]:80/", "https://a:b@c.d/%zz"),
      },
      oneOf("ftp://a.b/", "https:// a.b/", "https://", "https://ü.de/ü", "HTTPS://a.b/", 5, null),
      fc.webUrl(),
      text.map((path) => `https://example.com/${path}`),
    ),
    domain: fc.oneof(
      // Often enough that the count below never depends on the seed.
      { weight: 4, arbitrary: oneOf("example.com", "www.Example.com", "a.b,c.d") },
      oneOf("example.com", "www.Example.com", " a.b", "a.b,c.d", "", ",", "ü.de", 1, "a".repeat(1_001)),
      text,
    ),
    referrer: fc.oneof(oneOf(null, "", "https://google.com/", "https://a.b/".padEnd(501, "x"), 7), text),
    h: oneOf(1, true, false, null, "1"),
    interactive: oneOf(true, false, null),
    props: mostly(null, { a: 1 }, "x"),
    revenue: mostly(null, 1),
    e: mostly(null, 5, -1, "x"),
    sd: mostly(null, 50),
  },
  { requiredKeys: ["name", "url", "domain"] },
);

describe("the reader of plain page views", () => {
  it("reads what the schema reads, or nothing", () => {
    let read = 0;
    fc.assert(
      fc.property(body, (given) => {
        const usual = readPageview(given);
        if (usual === undefined) return;
        read++;
        expect(usual).toEqual(beaconBody.parse(given));
      }),
      randomRuns(3_000),
    );
    expect(read).toBeGreaterThan(100);
  });

  it("reads a tracker's page view", () => {
    const { url, ...rest } =
      readPageview({ name: "pageview", url: "https://a.b/c?d", domain: "a.b", referrer: null }) ?? {};
    expect(url?.href).toBe("https://a.b/c?d");
    expect(rest).toMatchObject({ domain: ["a.b"], referrer: null, interactive: true });
  });
});
