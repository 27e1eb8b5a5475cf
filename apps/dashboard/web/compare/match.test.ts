import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { matchInOrder } from "./match.js";

function match(a: readonly number[], b: readonly number[], steps = 1e9) {
  const budget = { left: steps };
  const run = matchInOrder(a, b, budget);
  let turns = 0;
  for (let step = run.next(); ; step = run.next(), turns++)
    if (step.done) return { matched: [...step.value], turns, used: steps - budget.left };
}

const list = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 });

/** The length of the longest common subsequence, by the textbook's table. */
function longest(a: readonly number[], b: readonly number[]): number {
  let row = b.map(() => 0);
  for (const item of a) {
    const next: number[] = [];
    for (const [at, other] of b.entries())
      next.push(item === other ? (row[at - 1] ?? 0) + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}

function expectInOrder(a: readonly number[], b: readonly number[], matched: readonly number[]) {
  const others = matched.filter((other) => other !== -1);
  expect(others).toEqual([...others].sort((x, y) => x - y));
  expect(new Set(others).size).toBe(others.length);
  for (const [at, other] of matched.entries()) if (other !== -1) expect(b[other]).toBe(a[at]);
  return others.length;
}

describe("matchInOrder", () => {
  it("finds the longest match of equal items in the order of both", () => {
    fc.assert(
      fc.property(list, list, (a, b) => {
        const { matched } = match(a, b);
        expect(expectInOrder(a, b, matched)).toBe(longest(a, b));
        expect(match(a, b).matched).toEqual(matched);
      }),
      randomRuns(300),
    );
  });

  it("keeps the order beyond its budget too, and pairs what is in line", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1_500, maxLength: 2_500 }), (a) => {
        const b = a.map((item, at) => (at % 3 === 0 ? item + 1 : item));
        const { matched } = match(a, b, 1);
        expect(expectInOrder(a, b, matched)).toBeGreaterThan(0);
      }),
      randomRuns(10),
    );
  });

  it("takes bounded steps for lists without anything in common", () => {
    const a = Array.from({ length: 100_000 }, (_, at) => at);
    const b = a.map((item) => -1 - item);
    const { matched, used, turns } = match(a, b);
    expect(matched.every((other) => other === -1)).toBe(true);
    expect(used).toBeLessThan(1_000_000);
    expect(turns).toBeGreaterThan(used / 1_100);
  });
});
