import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { testSpan } from "./spans.fixture.js";
import type { Span } from "./spans.js";
import { createScale, idleStretches, ownTimeByKind, ticksOf } from "./timeline.js";
import { buildTree } from "./tree.js";

function tree(...spans: [id: string, kind: Span["kind"], start: number, end: number | undefined, parentId?: string][]) {
  return buildTree(spans.map(([id, kind, start, end, parentId]) => testSpan(id, { kind, start, end, parentId })));
}

describe("ownTimeByKind", () => {
  it("takes the children's time from the parent's once, also where they overlap or reach beyond", () => {
    const made = tree(
      ["root", "agent", 0, 100],
      ["model", "model", 10, 50, "root"],
      ["tool", "tool", 40, 60, "root"],
      ["late", "tool", 90, 120, "root"],
    );
    expect(Object.fromEntries(ownTimeByKind(made, 120))).toEqual({ agent: 40, model: 40, tool: 50 });
  });

  it("lets a span without end run to the trace's end", () => {
    expect(Object.fromEntries(ownTimeByKind(tree(["a", "model", 5, undefined]), 20))).toEqual({ model: 15 });
  });
});

describe("idleStretches", () => {
  it("finds long stretches in which only wrappers ran", () => {
    const made = tree(
      ["root", "agent", 0, 100_000],
      ["a", "model", 0, 10_000, "root"],
      ["b", "tool", 90_000, 100_000, "root"],
    );
    expect(idleStretches(made, { from: 0, to: 100_000 })).toEqual([{ from: 10_000, to: 90_000 }]);
  });

  it("leaves stretches up to 4 % and up to 2 s alone", () => {
    const short = tree(["a", "model", 0, 48_000], ["b", "model", 52_000, 100_000]);
    expect(idleStretches(short, { from: 0, to: 100_000 })).toEqual([]);
    const brief = tree(["a", "model", 0, 1_000], ["b", "model", 3_000, 4_000]);
    expect(idleStretches(brief, { from: 0, to: 4_000 })).toEqual([]);
  });
});

describe("createScale", () => {
  it("shrinks folded stretches", () => {
    const scale = createScale({ from: 0, to: 100 }, [{ from: 10, to: 90 }]);
    expect(scale.at(10)).toBeCloseTo(10 / 20.5);
    expect(scale.at(90)).toBeCloseTo(10.5 / 20.5);
    expect(scale.at(100)).toBe(1);
  });

  it("rises, and timeAt undoes it", () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 999 }), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, fc.integer({ min: 0, max: 1_000 }), (given, time) => {
        const at = [...new Set(given)].sort((a, b) => a - b);
        const fold = at.flatMap((from, n) =>
          n % 2 === 0 && at[n + 1] !== undefined ? [{ from, to: at[n + 1] ?? 0 }] : [],
        );
        const scale = createScale({ from: 0, to: 1_000 }, fold);
        expect(scale.timeAt(scale.at(time))).toBeCloseTo(time, 3);
        expect(scale.at(time + 1)).toBeGreaterThan(scale.at(time));
        expect(scale.at(0)).toBe(0);
        expect(scale.at(1_000)).toBeCloseTo(1);
      }),
    );
  });
});

describe("ticksOf", () => {
  it("has round times", () => {
    const times = (to: number) => ticksOf(createScale({ from: 0, to }), 400).map(({ time }) => time);
    expect(times(42_700)).toEqual([0, 15_000, 30_000]);
    expect(times(5_400_000)).toEqual([0, 1_800_000, 3_600_000]);
    expect(times(8)).toEqual([0, 2, 4, 6]);
  });

  it("ends for any range and fold", () => {
    const times = fc.tuple(
      fc.double({ min: -1e12, max: 1e12, noNaN: true }),
      fc.double({ min: 1e-3, max: 1e12, noNaN: true }),
    );
    fc.assert(
      fc.property(times, fc.double({ min: 0, max: 0.5, noNaN: true }), ([from, length], share) => {
        const to = from + length;
        if (to <= from) return;
        const scale = createScale({ from, to }, [{ from: from + length * share, to: from + length * (share + 0.4) }]);
        expect(ticksOf(scale, 700).length).toBeLessThan(12);
      }),
    );
  });
});
