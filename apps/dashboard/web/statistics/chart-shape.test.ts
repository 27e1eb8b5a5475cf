import { describe, expect, it } from "@jest/globals";
import type { Overview } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { drawCurve, figureOf, labelledTimes, toCurve } from "./chart-shape.js";

const noVisits = { visits: 0, bounceRate: 0, visitDuration: 0, viewsPerVisit: 0 };
const counts = (visitors: number) => ({ visitors, pageviews: 2 * visitors, events: 0, ...noVisits });
const point = (at: string, visitors: number) => ({ at, ...counts(visitors) });

describe("a curve", () => {
  const series = [point("2026-03-13", 4), point("2026-03-14", 2), point("2026-03-15", 1), point("2026-03-16", 0)];
  const overview: Overview = { interval: "day", totals: counts(7), series };

  it("ends with the present day, which is unfinished", () => {
    const curve = toCurve(overview, "pageviews", "2026-03-15T10:30:00.000Z");
    expect(curve).toMatchObject({ values: [8, 4, 2], isUnfinished: true, before: undefined });
    expect(curve.times).toHaveLength(4);
    expect(toCurve(overview, "ratio", "2026-03-20T00:00:00.000Z")).toMatchObject({
      values: [2, 2, 2, 0],
      isUnfinished: false,
    });
  });

  it("has all hours of a day as places, and values of those that have begun", () => {
    const hours: Overview = { interval: "hour", totals: counts(1), series: [point("2026-03-15T00", 1)] };
    const curve = toCurve(hours, "visitors", "2026-03-15T00:10:00.000Z");
    expect([curve.times.length, curve.times[23], curve.values]).toEqual([24, "2026-03-15T23", [1]]);
  });

  it("is drawn within its box, whatever its values", () => {
    const values = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 366 });
    fc.assert(
      fc.property(values, fc.boolean(), fc.integer({ min: 60, max: 1_600 }), (some, isUnfinished, width) => {
        const times = some.map(String);
        const size = { width, height: 200 };
        const drawn = drawCurve({ times, values: some, before: some, beforeTimes: times, isUnfinished }, size);
        const path = `${drawn.line} ${drawn.unfinished} ${drawn.before} ${drawn.area}`;
        const numbers = [...path.matchAll(/-?\d+(?:\.\d+)?/g)].map(([text]) => Number(text));
        expect(path).not.toContain("NaN");
        expect(numbers.every((number) => number >= 0 && number <= Math.max(width, 200))).toBe(true);
        for (const index of times.keys()) expect(drawn.indexAt(drawn.x(index))).toBe(index);
      }),
    );
  });

  it("labels the last time, and no more than fit", () => {
    expect(labelledTimes(7, 1_000)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(labelledTimes(30, 400).at(-1)).toBe(29);
    expect(labelledTimes(366, 320).length).toBeLessThanOrEqual(4);
  });
});

describe("figures", () => {
  it("divide page views by visitors, and by nobody to 0", () => {
    expect(figureOf({ ...counts(4), pageviews: 6 }, "ratio")).toBe(1.5);
    expect(figureOf({ ...counts(0), events: 1 }, "ratio")).toBe(0);
    expect(figureOf({ ...counts(4), bounceRate: 0.25 }, "bounceRate")).toBe(0.25);
  });
});
