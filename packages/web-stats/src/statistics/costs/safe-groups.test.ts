import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type Groupable, groupSafely, leastVisitors } from "./safe-groups.js";

interface Drawn extends Groupable {
  readonly values: readonly (readonly string[])[];
}

const visitOf = (visitor: string, ...values: string[][]): Drawn => ({
  visitor,
  values,
  valuesOf: (dimension) => values[dimension] ?? [],
});

/** As many visitors as asked, each with a visit of these values. */
const visitors = (count: number, ...values: string[][]) =>
  Array.from({ length: count }, (_, n) => visitOf(`${JSON.stringify(values)} ${n}`, ...values));

const group = (visits: readonly Drawn[], dimensions = 1) => groupSafely(visits, dimensions, async () => undefined);

const sizes = async (visits: readonly Drawn[], dimensions = 1) =>
  (await group(visits, dimensions)).map((groups) => groups.map(({ value, visits: own }) => [value, own.length]));

const countVisitors = (visits: readonly Drawn[]) => new Set(visits.map(({ visitor }) => visitor)).size;

/** All that sums and differences of groups can tell apart: visits that are in the same groups. */
function tellApart(visits: readonly Drawn[], groups: readonly (readonly Drawn[])[]): Drawn[][] {
  const parts = new Map<string, Drawn[]>();
  for (const visit of visits) {
    const places = groups.map((each) => (each.includes(visit) ? "1" : "0")).join("");
    parts.set(places, [...(parts.get(places) ?? []), visit]);
  }
  return [...parts.values()];
}

describe("groups of visits", () => {
  it("are exact where each has five visitors, and come with a rest where some have fewer", async () => {
    expect(await sizes([...visitors(7, ["Search"]), ...visitors(5, ["Direct"])])).toEqual([
      [
        ["Search", 7],
        ["Direct", 5],
      ],
    ]);
    expect(await sizes([...visitors(7, ["Search"]), ...visitors(3, ["AI"]), ...visitors(2, ["Email"])])).toEqual([
      [
        ["Search", 7],
        [null, 5],
      ],
    ]);
  });

  it("do not leave out fewer than five, who would be what all have less the groups", async () => {
    expect(await sizes([...visitors(9, ["Search"]), ...visitors(4, ["AI"])])).toEqual([[[null, 13]]]);
    expect(await sizes([...visitors(9, ["Search"]), ...visitors(6, ["Direct"]), ...visitors(1, ["AI"])])).toEqual([
      [
        ["Search", 9],
        [null, 7],
      ],
    ]);
  });

  it("of another dimension do not tell one visitor from a group of the first", async () => {
    const visits = [...visitors(5, ["Search"], ["Google"]), ...visitors(1, ["Paid Search"], ["Google"])];
    const others = visitors(9, ["Direct"], [""]);
    expect(await sizes([...visits, ...others], 2)).toEqual([
      [
        ["Direct", 9],
        [null, 6],
      ],
      [
        ["", 9],
        ["Google", 6],
      ],
    ]);
  });

  it("count visitors: the visits of one are one, however many", async () => {
    const many = Array.from({ length: 50 }, () => visitOf("the same", ["Search"]));
    expect(await sizes(many)).toEqual([[]]);
    expect(await sizes([...many, ...visitors(3, ["Search"])])).toEqual([[]]);
    expect(await sizes([...many, ...visitors(4, ["Search"])])).toEqual([[["Search", 54]]]);
  });

  it("take a visit for each of its values", async () => {
    const visits = [...visitors(6, ["Buy", "Sign up"]), ...visitors(6, ["Buy"]), ...visitors(6, [])];
    expect(await sizes(visits)).toEqual([
      [
        ["Buy", 12],
        ["Sign up", 6],
        [null, 6],
      ],
    ]);
  });

  it("tell no fewer than five visitors apart, whatever is added and subtracted", async () => {
    const value = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 });
    const one = fc.constantFrom("a", "b", "c", "d").map((text) => [text]);
    const drawn = fc.array(fc.tuple(fc.nat({ max: 60 }), one, one, value), { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(drawn, async (rows) => {
        const visits = rows.map(([visitor, ...values]) => visitOf(`${visitor}`, ...values));
        const groups = await group(visits, 3);
        const all = groups.flat().map(({ visits: own }) => own);
        const isEnough = countVisitors(visits) >= leastVisitors;
        for (const [dimension, found] of groups.entries()) {
          for (const { value: shown, visits: own } of found) {
            expect(new Set(own).size).toBe(own.length);
            if (shown !== null) expect(own.every((visit) => visit.valuesOf(dimension).includes(shown))).toBe(true);
          }
          expect(new Set(found.flatMap(({ visits: own }) => own)).size).toBe(isEnough ? visits.length : 0);
        }
        const shown = isEnough ? tellApart(visits, all) : [];
        for (const part of shown) expect(countVisitors(part)).toBeGreaterThanOrEqual(leastVisitors);
      }),
      randomRuns(300),
    );
  });

  it("of twenty thousand visits with as many pages are made in short steps", async () => {
    const visits = Array.from({ length: 20_000 }, (_, n) => visitOf(`${n}`, [`/${n % 1_500}`]));
    let steps = 0;
    const [groups] = await groupSafely(visits, 1, async () => void steps++);
    expect(groups).toHaveLength(1_001);
    expect(steps).toBe(1_010);
  });
});
