import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  type Address,
  defaultAddress,
  eventsPath,
  figureNames,
  listPath,
  readAddress,
  realtimePath,
  sourceOf,
  statsPath,
  writeAddress,
} from "./address.js";

const source = sourceOf({ id: "s1" });

describe("an address", () => {
  const day = fc.constantFrom("2026-01-01", "2026-03-15");
  const addresses: fc.Arbitrary<Address> = fc
    .record({
      range: fc.constantFrom("today", "7d", "30d", "custom"),
      compare: fc.constantFrom("previous", "year", "off"),
      figure: fc.constantFrom(...figureNames),
      filters: fc.string({ unit: "grapheme" }),
      from: day,
      to: day,
    })
    .map(({ from, to, ...address }) => {
      const [first, last] = [from, to].sort();
      return (address.range === "custom" ? { ...address, from: first, to: last } : address) as Address;
    });

  it("comes back from its query", () => {
    fc.assert(
      fc.property(addresses, (address) => {
        const query = Object.fromEntries(new URLSearchParams(writeAddress(address)));
        expect(readAddress(query)).toEqual(address);
      }),
    );
  });

  it("is the default for nothing and for nonsense", () => {
    expect(readAddress({})).toEqual(defaultAddress);
    expect(readAddress({ range: "9d", compare: "x", figure: "toString", from: "2026-01-01" })).toEqual(defaultAddress);
    expect(readAddress({ from: "2026-01-02", to: "2026-01-01" })).toEqual(defaultAddress);
    expect(writeAddress(defaultAddress)).toBe("");
  });

  it("carries its filters to every request", () => {
    const address = { ...defaultAddress, filters: "page:is:/a&b=c" };
    const query = "?filters=page%3Ais%3A%2Fa%26b%3Dc";
    expect(writeAddress(address)).toBe(query);
    expect([statsPath, eventsPath, realtimePath].map((path) => path(source, address))).toEqual([
      `/sites/s1/stats${query}`,
      `/sites/s1/events${query}`,
      `/sites/s1/realtime${query}`,
    ]);
    expect(listPath(source, address, { list: "hosts", isCsv: true })).toContain(`stats${query}&lists=hosts`);
  });

  it("asks for a shared link's data by its token alone", () => {
    expect(statsPath(sourceOf({ token: "t" }), defaultAddress)).toBe("/shared/t/stats");
    expect(sourceOf({ token: "t", id: "s1" })).toEqual({ data: "/shared/t", page: "/dashboard/shared/t" });
  });

  it("asks for the page's data", () => {
    expect(statsPath(source, defaultAddress)).toBe("/sites/s1/stats");
    const custom = readAddress({ from: "2026-01-01", to: "2026-01-02", compare: "year", figure: "events" });
    expect(statsPath(source, custom)).toBe("/sites/s1/stats?from=2026-01-01&to=2026-01-02&compare=year");
    expect(listPath(source, custom, { list: "topPages", isCsv: true })).toBe(
      "/sites/s1/stats?from=2026-01-01&to=2026-01-02&lists=topPages&limit=1000&csv=1",
    );
  });
});
