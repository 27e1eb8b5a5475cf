import { describe, expect, it } from "@jest/globals";
import { formatCompact, formatDollars, formatTick } from "./dollars.js";

describe("formatDollars", () => {
  it.each([
    [0, "$0.00"],
    [0.0035, "$0.0035"],
    [0.000000123456, "$0.000000123"],
    [0.25, "$0.25"],
    [1.005, "$1.01"],
    [1234.5, "$1,234.50"],
  ])("writes %d as %s", (dollars, text) => expect(formatDollars(dollars)).toBe(text));
});

describe("formatTick", () => {
  it("writes amounts in few signs", () => {
    expect([0, 15, 1_250, 0.25, 0.07, 0.0035].map(formatTick)).toEqual(["$0", "$15", "$1.3K", "25¢", "7¢", "0.35¢"]);
  });
});

describe("formatCompact", () => {
  it("writes counts in three places", () => {
    expect([0, 950, 1_200, 1_250_000].map(formatCompact)).toEqual(["0", "950", "1.2K", "1.3M"]);
  });
});
