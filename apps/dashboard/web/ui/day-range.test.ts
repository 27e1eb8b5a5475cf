import { describe, expect, it } from "@jest/globals";
import { addDays, isDay, rangeProblem } from "./day-range.js";

describe("two days", () => {
  it.each([
    ["2026-01-01", "2026-01-01", undefined],
    ["2024-01-01", "2024-12-31", undefined],
    ["2024-01-01", "2025-01-01", "At most 366 days"],
    ["2026-01-02", "2026-01-01", "The last day is before the first"],
    ["", "2026-01-01", "Give both days"],
    ["2026-02-01", "2026-02-29", "Give both days"],
  ])("from %s to %s", (from, to, problem) => {
    expect(rangeProblem(from, to, 366)).toBe(problem);
  });
});

it("knows the days of the calendar", () => {
  expect(["2024-02-29", "2026-12-31"].map(isDay)).toEqual([true, true]);
  expect(["2026-02-29", "2026-13-01", "2026-2-1", "1969-12-31", "9999-12-31", "today"].map(isDay)).toEqual(
    Array(6).fill(false),
  );
  expect([addDays("2024-02-28", 1), addDays("2026-01-01", -1)]).toEqual(["2024-02-29", "2025-12-31"]);
});
