import { describe, expect, it } from "@jest/globals";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import { endLength, lineId } from "./line-id.js";

function read(fields: Record<string, unknown>): ImportLine {
  const result = readImportLine({ ts: "2026-05-01T12:00:00Z", path: "/", ...fields });
  if (!result.ok) throw new Error(result.problem);
  return result.line;
}

const idOf = (fields: Record<string, unknown>) => lineId(read(fields)).first;

/** The id that former releases gave a line. */
function formerIdOf(fields: Record<string, unknown>): string {
  const { first, formerEnd } = lineId(read(fields));
  return first.slice(0, -endLength) + (formerEnd(1) ?? first.slice(-endLength));
}

describe("the id of a line", () => {
  it("is the same in every version, so that a file of former imports counts once", () => {
    const sale = { type: "event", name: "sale", props: { b: 1, a: "x" }, revenue: { amount: "1.5", currency: "EUR" } };
    expect(
      [
        { path: '/a"b\\é', referrer: "x\u007f\u2028", visitor: "1" },
        { path: null, url: "https://example.com/a?b=1", ip: "192.0.2.1", user_agent: "A", country: "de" },
        { ...sale, path: null },
        { channel: "Direct", browser: "Firefox", host: "a.example" },
      ].map(formerIdOf),
    ).toEqual([
      "019de368-f600-823d-a4ff-86b1415f3b91",
      "019de368-f600-8b9d-96f9-62264b48aafc",
      "019de368-f600-89d8-8eaa-308b704765d3",
      "019de368-f600-8d8b-8d2c-9f17a7ba9722",
    ]);
  });

  it("is another one for whatever else the line says", () => {
    const event = { type: "event", name: "a" };
    const ids = [
      {},
      { ts: "2026-05-01T12:00:00.000001Z" },
      { path: "/a" },
      { path: "/?a" },
      { referrer: "https://some-site.org/" },
      { country: "DE" },
      { visitor: "1" },
      { ip: "192.0.2.1" },
      { ip: "192.0.2.2" },
      event,
      { ...event, name: "b" },
      { ...event, props: { a: 1 } },
      { ...event, props: { a: "1" } },
    ].map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("does not depend on how the line is written", () => {
    expect(idOf({ ts: "2026-05-01T14:00:00+02:00", status: 200 })).toBe(idOf({}));
    expect(idOf({ country: "de" })).toBe(idOf({ country: "DE" }));
    expect(idOf({ visitor: 5 })).toBe(idOf({ visitor: "5" }));
    const event = { type: "event", name: "a" };
    expect(idOf({ ...event, props: { a: 1, b: 2 } })).toBe(idOf({ ...event, props: { b: 2, a: 1 } }));
  });

  it("is another one for each occurrence", () => {
    const { first, nth } = lineId(read({}));
    expect(nth(1)).toBe(first);
    expect(new Set([1, 2, 3].map(nth)).size).toBe(3);
    expect(lineId(read({})).nth(3)).toBe(nth(3));
  });

  it("is shared by many addresses, so that none can be found from it", () => {
    const addresses = Array.from({ length: 200_000 }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    const line = read({ user_agent: "A" });
    const ids = new Set(addresses.map((ip) => lineId({ ...line, ip }).first));
    // So many drawn among 2^20 ids at random would leave 182,000.
    expect(ids.size).toBeLessThan(190_000);
    expect(ids.size).toBeGreaterThan(175_000);
  });
});
