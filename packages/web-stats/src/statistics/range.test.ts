import { describe, expect, it } from "@jest/globals";
import { daysOfLastYear, listDays, previousDays, resolveRange } from "./range.js";

const now = new Date("2026-03-15T23:59:59.999Z");

describe("a range", () => {
  it.each([
    [{}, { asked: { range: "7d" }, first: "2026-03-09", last: "2026-03-15" }],
    [{ range: "today" as const }, { asked: { range: "today" }, first: "2026-03-15", last: "2026-03-15" }],
    [{ range: "30d" as const }, { asked: { range: "30d" }, first: "2026-02-14", last: "2026-03-15" }],
    [
      { from: "2024-02-28", to: "2024-03-01" },
      {
        asked: { range: "custom", from: "2024-02-28", to: "2024-03-01" },
        first: "2024-02-28",
        last: "2024-03-01",
      },
    ],
  ])("of %j is UTC days, both ends included", (query, expected) => {
    expect(resolveRange(query, now)).toEqual(expected);
  });

  it("has every day in order, and as many days before it", () => {
    const days = { first: "2024-02-28", last: "2024-03-01" };
    expect(listDays(days)).toEqual(["2024-02-28", "2024-02-29", "2024-03-01"]);
    expect(previousDays(days)).toEqual({ first: "2024-02-25", last: "2024-02-27" });
  });

  it.each([
    ["2026-03-09", "2026-03-15", "2025-03-09", "2025-03-15"],
    ["2024-02-29", "2024-03-01", "2023-02-28", "2023-03-01"],
    ["2025-02-20", "2025-03-10", "2024-02-20", "2024-03-09"],
  ])("from %s to %s has as many days a year before", (first, last, from, to) => {
    expect(daysOfLastYear({ first, last })).toEqual({ first: from, last: to });
  });
});
