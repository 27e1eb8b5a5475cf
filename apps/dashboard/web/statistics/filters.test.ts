import { describe, expect, it } from "@jest/globals";
import { filterDimensions, parseFilters } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { hasFilter, type PageFilter, readFilters, sayFilter, toggleFilter, writeFilters } from "./filters.js";

const values = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: fc.constantFrom(..."|;:\\a/ ") }));
const filters: fc.Arbitrary<PageFilter[]> = fc.array(
  fc.record({
    dimension: fc.oneof(
      fc.constantFrom(...filterDimensions),
      values.map((name) => `prop.x${name}`),
    ),
    operator: fc.constantFrom("is", "isNot", "contains", "containsNot"),
    values: fc.array(values, { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 4 },
);

describe("filters in the address", () => {
  it("come back from their text, which the API reads alike", () => {
    fc.assert(
      fc.property(filters, (some) => {
        const text = writeFilters(some);
        expect(readFilters(text)).toEqual(some);
        if (some.length === 0) return;
        const parsed = parseFilters(text);
        expect(parsed).toHaveLength(some.length);
        for (const [at, { operator, values: wanted }] of some.entries()) {
          for (const value of wanted) expect(parsed[at]?.test(value)).toBe(true);
          expect(parsed[at]?.isNegated).toBe(operator.endsWith("Not"));
        }
      }),
    );
  });

  it("keep a text that the API refuses", () => {
    for (const text of ["country", "country:is", "a:b:c:d", "x\\", "country:is:\\x"]) {
      expect(writeFilters(readFilters(text)).replaceAll("\\\\", "\\")).toBe(text.replace("c:d", "c\\:d"));
    }
  });

  it("are added, exchanged and taken away by a value", () => {
    fc.assert(
      fc.property(filters, fc.constantFrom(...filterDimensions), values, (some, dimension, value) => {
        const text = writeFilters(some);
        if (hasFilter(text, dimension, value)) return;
        const more = toggleFilter(text, dimension, value);
        expect(hasFilter(more, dimension, value)).toBe(true);
        expect(hasFilter(toggleFilter(more, dimension, value), dimension, value)).toBe(false);
      }),
    );
    expect(toggleFilter("country:is:DE|FR;page:contains:/a", "country", "FR")).toBe("page:contains:/a;country:is:FR");
  });

  it("have a name for every dimension of the API", () => {
    for (const dimension of filterDimensions)
      expect(sayFilter({ dimension, operator: "is", values: ["x"] })).toMatch(/^[A-Z]/);
  });

  it.each([
    ["country:is:DE|FR", "Country is DE or FR"],
    ["page:contains:/docs", "Page contains /docs"],
    ["utmSource:isNot:", "UTM source is not unknown"],
    ["prop.a\\:b:containsNot:x\\|y", "Property a:b does not contain x|y"],
    ["nonsense", "nonsense"],
    ["toString:is:1", "toString is 1"],
  ])("read well: %s", (text, words) => {
    expect(readFilters(text).map(sayFilter)).toEqual([words]);
  });
});
