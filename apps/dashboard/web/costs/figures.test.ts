import { describe, expect, it } from "@jest/globals";
import type { Costs } from "../../src/costs/costs.route.js";
import { formatCompact, formatDollars } from "../ui/format.js";
import { costCurve, figureOf, finishedBeside, formatTick } from "./figures.js";

const sums = { calls: 2, input_tokens: 30, output_tokens: 4, cached_input_tokens: 1, cost_usd: "0.25" };
const costs: Costs = {
  from: "2026-02-27",
  to: "2026-03-03",
  total: sums,
  models: [],
  agents: [],
  series: [{ day: "2026-02-28", ...sums }],
  modelDays: [],
  before: null,
};
const before = { from: "2026-02-25", to: "2026-02-27", total: sums, series: [{ day: "2026-02-26", ...sums }] };

describe("costCurve", () => {
  it("has each day of the range, zero without calls, and none to come", () => {
    const curve = costCurve(costs, "cost", "2026-03-01T12:00:00Z");
    expect(curve).toMatchObject({
      times: ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"],
      values: [0, 0.25, 0],
      isUnfinished: true,
    });
    expect(costCurve(costs, "input", "2026-03-05T00:00:00Z")).toMatchObject({
      values: [0, 30, 0, 0],
      isUnfinished: false,
    });
  });

  it("lays each day beside one of the days before, the present one beside none", () => {
    expect(costCurve({ ...costs, before }, "calls", "2026-03-01T12:00:00Z")).toMatchObject({
      before: [0, 2],
      beforeTimes: ["2026-02-25", "2026-02-26"],
    });
    expect(costCurve(costs, "calls", "2026-03-01T12:00:00Z").before).toBeUndefined();
  });

  it("compares the finished days alone", () => {
    const series = [...costs.series, { day: "2026-03-01", ...sums }];
    const compared = finishedBeside({ ...costs, series, before }, "input", "2026-03-01T12:00:00Z");
    expect(compared).toEqual({ value: 30, before: 30 });
    expect(finishedBeside(costs, "input", "2026-03-01T12:00:00Z")).toBeUndefined();
  });

  it("compares with no days of which the first ones have no calls", () => {
    const beginning = (from: string) => ({ ...costs, before: { ...before, from } });
    expect(finishedBeside(beginning("2026-02-23"), "calls", "2026-03-01T12:00:00Z")).toBeDefined();
    expect(finishedBeside(beginning("2026-02-22"), "calls", "2026-03-01T12:00:00Z")).toBeUndefined();
  });

  it("draws calls without a price at zero", () => {
    expect(figureOf({ ...sums, cost_usd: null }, "cost")).toBe(0);
    expect([figureOf(sums, "output"), figureOf(sums, "calls")]).toEqual([4, 2]);
  });
});

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
