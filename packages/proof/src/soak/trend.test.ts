import { describe, expect, it } from "@jest/globals";
import { trendOf } from "./trend.js";

describe("a trend", () => {
  it("of a straight line has its slope, and no noise", () => {
    const trend = trendOf([
      [0, 10],
      [1, 12],
      [2, 14],
    ]);
    expect(trend).toMatchObject({ first: 10, last: 14, slopePerHour: 2, change: 4 });
    expect(trend.noise).toBeCloseTo(0);
  });

  it("of values that go up and down has a slope of nearly zero, and their deviation as noise", () => {
    const trend = trendOf(Array.from({ length: 100 }, (_, n) => [n, n % 2] as const));
    expect(Math.abs(trend.change)).toBeLessThan(0.05);
    expect(trend.noise).toBeCloseTo(0.5);
  });
});
