import { describe, expect, it } from "@jest/globals";
import { parseFilters } from "@waymark/web-stats/statistics";
import { writeFilters } from "../statistics/filters.js";
import { filtersOf, hasFilters, toggleFilters } from "./goal-filters.js";

const none = { event: null, property: null, value: null, page: null };
const textOf = (rule: Partial<Record<keyof typeof none, string>>) => {
  const filters = filtersOf({ ...none, ...rule });
  return filters && writeFilters(filters);
};

describe("the filters of a goal", () => {
  it("are those that the API reads, where it has such", () => {
    for (const [rule, expected] of [
      [{ event: "sign:up" }, "event:is:sign\\:up"],
      [{ event: "buy", property: "plan", value: "a|b" }, "event:is:buy;prop.plan:is:a\\|b"],
      [{ page: "/a" }, "page:is:/a"],
      [{ page: "*/docs*" }, "page:contains:/docs"],
    ] as const) {
      expect(textOf(rule)).toBe(expected);
      expect(parseFilters(expected).length).toBeGreaterThan(0);
    }
  });

  it("are none for a pattern, an empty value and the values beyond a list", () => {
    for (const rule of [
      ...["/docs/*", "*", "**", "*a*b*", `*${"a".repeat(1_001)}*`, "(other)"].map((page) => ({ page })),
      { event: "(other)" },
      { event: "buy", property: "plan", value: "" },
    ]) {
      expect([rule, textOf(rule)]).toEqual([rule, undefined]);
    }
  });

  it("take the place of another goal's, and leave again", () => {
    const pro = filtersOf({ ...none, event: "buy", property: "plan", value: "pro" }) ?? [];
    const signup = filtersOf({ ...none, event: "signup" }) ?? [];
    const docs = filtersOf({ ...none, page: "*docs*" }) ?? [];
    const kept = "country:is:DE;event:isNot:bot";
    const first = toggleFilters(kept, pro);
    expect(first).toBe(`${kept};event:is:buy;prop.plan:is:pro`);
    expect([hasFilters(first, pro), hasFilters(first, signup)]).toEqual([true, false]);
    expect(toggleFilters(first, pro)).toBe(kept);
    expect(toggleFilters(first, signup)).toBe(`${kept};event:is:signup`);
    expect(toggleFilters(toggleFilters("page:is:/a", docs), docs)).toBe("");
  });
});
