import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { compilePattern } from "./count-goals.js";

describe("a page pattern", () => {
  it.each([
    ["/docs", ["/docs"], ["/docs/", "/Docs", "x/docs", ""]],
    ["/docs/*", ["/docs/", "/docs/a/b*"], ["/docs", "/a/docs/"]],
    ["*", ["", "/", "/a"], []],
    ["/a*b*a", ["/aba", "/axbxa", "/abba"], ["/aa", "/ab", "/ba", "/aba/"]],
    ["*a*a", ["aa", "aba"], ["a", "aab"]],
    ["/.+[x]$(%_'\"\\)", ["/.+[x]$(%_'\"\\)"], ["/xx"]],
  ])("%s means the whole path", (pattern, paths, others) => {
    const { matches } = compilePattern(pattern);
    for (const path of paths) expect([path, matches(path)]).toEqual([path, true]);
    for (const path of others) expect([path, matches(path)]).toEqual([path, false]);
  });

  it("is what a regular expression of it says", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "."), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (pattern, path) => {
        const parts = pattern.split("*").map((part) => part.replace(/[.*]/g, "\\$&"));
        expect(compilePattern(pattern).matches(path)).toBe(new RegExp(`^${parts.join(".*")}$`, "s").test(path));
      }),
      randomRuns(1_000),
    );
  });

  it("with many stars is tested in one pass", () => {
    expect(compilePattern(`${"*a".repeat(900)}b`).matches("a".repeat(2_000))).toBe(false);
  });
});
