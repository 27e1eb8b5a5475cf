import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseFilters } from "./filter.js";

const escapeValue = (value: string) => value.replace(/[|;:\\]/g, "\\$&");

describe("parseFilters", () => {
  it("reads dimensions, operators and values, several filters joined by ;", () => {
    const filters = parseFilters("country:is:DE|FR;prop.a\\:b:containsNot:x;source:isNot:");
    expect(filters.map(({ subject, isNegated }) => ({ subject, isNegated }))).toEqual([
      { subject: { kind: "visit", dimension: "country" }, isNegated: false },
      { subject: { kind: "property", name: "a:b" }, isNegated: true },
      { subject: { kind: "visit", dimension: "source" }, isNegated: true },
    ]);
    const hits = (index: number, values: string[]) => values.filter((value) => filters[index]?.test(value));
    expect(hits(0, ["DE", "FR", "de", "D", ""])).toEqual(["DE", "FR"]);
    expect(hits(1, ["axb", "x", "X", ""])).toEqual(["axb", "x"]);
    expect(hits(2, ["", "Google"])).toEqual([""]);
  });

  it("takes any value by backslashes: separators, quotes, percent signs, NUL, line ends", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 5 }), (values) => {
        const wanted = values.filter((value) => value !== "(other)");
        fc.pre(wanted.length > 0);
        const [filter] = parseFilters(`page:is:${wanted.map(escapeValue).join("|")}`);
        for (const value of wanted) expect(filter?.test(value)).toBe(true);
        expect(filter?.test(`${wanted.join("")}x`)).toBe(wanted.includes(`${wanted.join("")}x`));
      }),
    );
  });

  it.each([
    ["", "Must name one of the dimensions"],
    ["cats:is:1", "Must name one of the dimensions"],
    ["Country:is:DE", "Must name one of the dimensions"],
    ["prop.:is:1", "Must name one of the dimensions"],
    ["toString:is:1", "Must name one of the dimensions"],
    ["country:is:DE;", "Must name one of the dimensions"],
    ["country", "Must have one of the operators is, isNot, contains, containsNot"],
    ["country:IS:DE", "Must have one of the operators"],
    ["country:is", "Must have a value after each operator"],
    ["page:is:/a:b", "Must have a backslash before each :"],
    ["page:is:a\\", "Must have \\\\ for each \\ of a value"],
    ["page:is:a\\b", "Must have \\\\ for each \\ of a value"],
    ["source:is:(other)", "Must not have the value (other)"],
    [`country:is:${Array(51).fill("DE").join("|")}`, "Must have at most 50 values in a filter"],
    [Array(11).fill("country:is:DE").join(";"), "Must have at most 10 filters"],
  ])("refuses %s", (text, message) => {
    expect(() => parseFilters(text)).toThrow(message);
  });
});
