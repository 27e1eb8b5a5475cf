import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readImportLine } from "./import-line.schema.js";
import { lineId } from "./line-id.js";

const view = { ts: "2026-05-01T12:00:00Z", path: "/" };
const event = { ts: "2026-05-01T12:00:00Z", type: "event", name: "signup" };

function read(value: unknown) {
  const result = readImportLine(value);
  if (!result.ok) throw new Error(result.problem);
  return result.line;
}

const unsafe = "Must be a whole number from -9007199254740991 to 9007199254740991, or its digits as a text";

function problem(value: unknown): string {
  const result = readImportLine(value);
  return result.ok ? "(none)" : result.problem;
}

describe("a line that is understood", () => {
  it("may name browser, system and device, which are no part of its id", () => {
    const named = { ...view, browser: "Firefox", os: "", device: "desktop" };
    expect(read(named)).toMatchObject({ software: { browser: "Firefox", os: null, device: "desktop" } });
    expect(lineId(read(named)).first).toBe(lineId(read(view)).first);
  });

  it("is a page view with a time and a path", () => {
    expect(read(view)).toEqual({
      at: "2026-05-01T12:00:00.000000Z",
      software: null,
      type: "pageview",
      path: "/",
      host: null,
      query: null,
      referrer: null,
      country: null,
      visitor: null,
      ip: null,
      userAgent: null,
      derived: null,
      id: null,
      name: null,
      props: null,
      revenue: null,
      isInteractive: true,
      engagement: null,
    });
  });

  it("is a custom event with revenue, or without interaction, or engagement, each with an id of its own", () => {
    const revenue = { amount: 12.5, currency: "EUR" };
    const lines = [
      event,
      { ...event, revenue },
      { ...event, interactive: false },
      { ...view, type: "engagement" },
      { ...view, type: "engagement", engaged_ms: 86_400_000, scroll_depth: 100 },
    ];
    expect(lines.map(read)).toMatchObject([
      { revenue: null, isInteractive: true, engagement: null },
      { revenue: { amount: "12.5", currency: "EUR" } },
      { isInteractive: false },
      { engagement: { engagedMs: null, scrollDepth: null } },
      { engagement: { engagedMs: 86_400_000, scrollDepth: 100 } },
    ]);
    expect(new Set(lines.map((line) => lineId(read(line)).first)).size).toBe(5);
    expect(read({ ...view, revenue: 1, interactive: 1, engaged_ms: "x" })).toEqual(read(view));
  });

  it("may have null for what is absent, and further fields", () => {
    const nulls = { type: null, url: null, referrer: null, country: null, visitor: null, ip: null, user_agent: null };
    expect(read({ ...view, ...nulls, name: null, props: null, status: 200, extra: [{}] })).toEqual(read(view));
  });

  it("keeps its path without query and fragment", () => {
    expect(read({ ...view, path: "/a%20b/?utm_source=x&y#z" })).toMatchObject({
      path: "/a%20b/",
      query: "utm_source=x&y",
    });
    expect(read({ ...view, path: "/a#b?c" })).toMatchObject({ path: "/a", query: null });
    expect(read({ ...view, path: "?q" })).toMatchObject({ path: "/", query: "q" });
    expect(read({ ...view, path: "/a?" })).toMatchObject({ path: "/a", query: null });
    expect(read({ ...view, path: "//a/../b" }).path).toBe("//a/../b");
  });

  it("takes path and query from a URL, of the site or within it", () => {
    const url = "https://example.com:8080/Preise/ü?utm_source=x#top";
    expect(read({ ts: view.ts, url })).toMatchObject({ path: "/Preise/%C3%BC", query: "utm_source=x" });
    expect(read({ ts: view.ts, url: "https://example.com" })).toMatchObject({ path: "/", query: null });
    expect(read({ ts: view.ts, url: "/a?gclid=1" })).toMatchObject({ path: "/a", query: "gclid=1" });
    expect(read({ ...view, path: "/a?b", url })).toMatchObject({ path: "/a", query: "utm_source=x" });
  });

  it("has a time of any year from 1970 to 9999", () => {
    expect(read({ ...view, ts: "1970-01-01T00:00:00Z" }).at).toBe("1970-01-01T00:00:00.000000Z");
    expect(read({ ...view, ts: "9999-12-31T23:59:59.999999Z" }).at).toBe("9999-12-31T23:59:59.999999Z");
    expect(read({ ...view, ts: "1970-01-01T01:00:00+01:00" }).at).toBe("1970-01-01T00:00:00.000000Z");
  });

  it("has a country in upper case, or none where it says unknown", () => {
    expect(read({ ...view, country: "de" }).country).toBe("DE");
    for (const country of ["", "XX", "zz", null]) expect(read({ ...view, country }).country).toBeNull();
  });

  it("may name its visitor by a number, and have an empty user agent", () => {
    expect(read({ ...view, visitor: 17 }).visitor).toBe("17");
    expect(read({ ...view, ip: "192.0.2.1", user_agent: "" })).toMatchObject({ ip: "192.0.2.1", userAgent: null });
  });

  it("may be a custom event, with properties or without a path", () => {
    const props = JSON.parse('{"a":"x","b":1,"c":false,"d":null,"__proto__":"y"}');
    const line = read({ ...event, props });
    expect(line).toMatchObject({ type: "event", name: "signup", path: null });
    expect(JSON.stringify(line.props)).toBe('{"a":"x","b":1,"c":false,"__proto__":"y"}');
    const numbers = { a: 2 ** 53 - 1, b: 1 - 2 ** 53, c: 0.1, d: "9007199254740993" };
    expect(read({ ...event, props: numbers }).props).toEqual(numbers);
    expect(read({ ...event, props: {} }).props).toBeNull();
    expect(read({ ...event, props: null }).props).toBeNull();
  });

  it("leaves a page view's name and properties aside, whatever they are", () => {
    expect(read({ ...view, name: 5, props: [1] })).toEqual(read(view));
  });

  it("reaches every bound, counted in bytes of UTF-8", () => {
    expect(read({ ...view, path: `/${"ü".repeat(999)}?${"x".repeat(5_000)}` }).path).toHaveLength(1_000);
    expect(read({ ...event, name: "n".repeat(200) }).name).toHaveLength(200);
    expect(read({ ...view, referrer: `https://some-site.org/?${"x".repeat(20_000)}` }).referrer).toHaveLength(20_023);
    const props = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [String(i).padEnd(200, "p"), "v".repeat(60)]),
    );
    expect(read({ ...event, props }).props).toEqual(props);
    expect(read({ ...event, props: { v: "v".repeat(2_000) } }).props).toEqual({ v: "v".repeat(2_000) });
    const full = {
      a: "v".repeat(2_000),
      b: "v".repeat(2_000),
      c: "v".repeat(2_000),
      d: "v".repeat(2_000),
      e: "v".repeat(156),
    };
    expect(JSON.stringify(full)).toHaveLength(8_192);
    expect(read({ ...event, props: full }).props).toEqual(full);
  });
});

describe("properties above their bound in all", () => {
  const props = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, "v".repeat(2_000)]));

  it("are refused, and taken of an exported event, which was recorded once", () => {
    expect(readImportLine({ ...event, props })).toEqual({
      ok: false,
      problem: "props: Must be at most 8192 bytes of JSON in all",
    });
    expect(read({ ...event, props, channel: "Direct" }).props).toEqual(props);
    expect(read({ ...event, props: { a: 2 ** 60 }, channel: "Direct" }).props).toEqual({ a: 2 ** 60 });
  });
});

describe("a line that is refused names the field and says why", () => {
  it.each([
    [null, "The line must be a JSON object"],
    [[], "The line must be a JSON object"],
    ["x", "The line must be a JSON object"],
    [{}, "ts: Required"],
    [{ ts: null, path: "/" }, "ts: Required"],
    [{ ...view, ts: 1_767_225_600 }, "ts: Must be a text"],
    [{ ...view, ts: "yesterday" }, "ts: Must be an ISO 8601 timestamp"],
    [{ ...view, ts: "2026-05-01T12:00:00" }, "ts: Must be an ISO 8601 timestamp"],
    [{ ...view, ts: "2026-02-30T12:00:00Z" }, "ts: Must be a date and time that exist"],
    [{ ...view, ts: "1969-12-31T23:59:59.999999Z" }, "ts: Must not lie before 1970, in UTC"],
    [{ ...view, ts: "1970-01-01T00:00:00+01:00" }, "ts: Must not lie before 1970, in UTC"],
    [{ ts: view.ts }, "path: Required, or else url"],
    [{ ts: view.ts, path: null, url: null }, "path: Required, or else url"],
    [{ ...view, path: "" }, "path: Must not be empty"],
    [{ ...view, path: 1 }, "path: Must be a text"],
    [{ ...view, path: `/${"x".repeat(2_000)}` }, "path: Must be at most 2000 bytes of UTF-8 without the query"],
    [{ ...view, path: `/${"ü".repeat(1_000)}` }, "path: Must be at most 2000 bytes of UTF-8 without the query"],
    [{ ts: view.ts, url: `/${"ü".repeat(400)}` }, "url: Must be at most 2000 bytes of UTF-8 without the query"],
    [{ ts: view.ts, url: "mailto:a@example.com" }, "url: Must be an http or https URL"],
    [{ ts: view.ts, url: "http://" }, "url: Must be an http or https URL"],
    [{ ...view, path: "/\u0000" }, "path: Must not contain the NUL character"],
    [{ ...view, path: "/\ud83d" }, "path: Must not contain a lone surrogate"],
    [{ ...view, referrer: "\u0000" }, "referrer: Must not contain the NUL character"],
    [{ ...view, referrer: {} }, "referrer: Must be a text"],
    [{ ...view, user_agent: "\ude00" }, "user_agent: Must not contain a lone surrogate"],
    [{ ...view, ip: "1".repeat(256) }, "ip: Must be at most 255 bytes of UTF-8"],
    [{ ...view, visitor: "" }, "visitor: Must not be empty"],
    [{ ...view, visitor: "v".repeat(256) }, "visitor: Must be at most 255 bytes of UTF-8"],
    [{ ...view, visitor: [1] }, "visitor: Must be a text of 1 to 255 bytes, or a number"],
    [{ ...view, country: "XX1" }, "country: Must be a country code of two letters (ISO 3166-1 alpha-2)"],
    [{ ...view, country: "Germany" }, "country: Must be a country code of two letters (ISO 3166-1 alpha-2)"],
    [{ ...view, country: 49 }, "country: Must be a text"],
    [{ ...view, type: "click" }, "type: Must be one of: pageview, event, engagement"],
    [{ ...view, type: 1 }, "type: Must be one of: pageview, event, engagement"],
    [{ ...event, revenue: 12 }, "revenue: Must be an object with amount and currency"],
    [
      { ...event, revenue: { amount: 1, currency: "eur" } },
      "revenue.currency: Must be a code of three capital letters (ISO 4217)",
    ],
    [{ ...event, interactive: "no" }, "interactive: Must be true or false"],
    [{ ...view, type: "engagement", engaged_ms: -1 }, "engaged_ms: Must be a whole number from 0 to 86400000"],
    [{ ...view, type: "engagement", scroll_depth: 100.5 }, "scroll_depth: Must be a whole number from 0 to 100"],
    [{ ts: view.ts, type: "engagement" }, "path: Required, or else url"],
    [{ ts: view.ts, type: "event" }, "name: Required"],
    [{ ...event, name: "" }, "name: Must not be empty"],
    [{ ...event, name: "n".repeat(201) }, "name: Must be at most 200 bytes of UTF-8"],
    [{ ...event, name: "a\u0000" }, "name: Must not contain the NUL character"],
    [{ ...event, props: [] }, "props: Must be a JSON object"],
    [{ ...event, props: "x" }, "props: Must be a JSON object"],
    [
      { ...event, props: { a: {} } },
      "props.a: Must be a text, a number, true or false; lists and objects are not kept",
    ],
    [{ ...event, props: { a: ["x"] } }, "props.a: Must be a text, a number, true or false"],
    [{ ...event, props: { a: "v".repeat(2_001) } }, "props.a: Must be at most 2000 bytes of UTF-8"],
    [{ ...event, props: { a: Number.POSITIVE_INFINITY } }, "props.a: Must be a number that is not too large"],
    [{ ...event, props: { a: 2 ** 53 } }, `props.a: ${unsafe}`],
    [{ ...event, props: { a: -(2 ** 53) } }, `props.a: ${unsafe}`],
    [{ ...event, props: { a: "\u0000" } }, "props.a: Must not contain the NUL character"],
    [{ ...event, props: { "": 1 } }, "props: The name of a property: Must not be empty"],
    [{ ...event, props: { ["p".repeat(201)]: 1 } }, "props: The name of a property: Must be at most 200 bytes"],
    [
      { ...event, props: Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`p${i}`, i])) },
      "props: Must have at most 30 properties",
    ],
  ])("%j", (value, expected) => {
    expect(problem(value).startsWith(expected)).toBe(true);
  });

  it("whatever it is, and never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ ts: fc.constant(view.ts), props: fc.jsonValue() })), (value) => {
        const result = readImportLine(value);
        expect(result.ok || result.problem.length > 10).toBe(true);
      }),
    );
  });
});
