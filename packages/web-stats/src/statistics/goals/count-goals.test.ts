import { describe, expect, it } from "@jest/globals";
import { PartCollector } from "../columns/collect-part.js";
import { testWork } from "../statistics.fixture.js";
import { countGoals, countVisitors, noTally, toRevenue, walkFunnels } from "./count-goals.js";
import type { Goal } from "./goals.query.js";

const rule = { event: null, property: null, value: null, page: null };
const page = (pattern: string): Goal => ({ ...rule, id: pattern, name: pattern, page: pattern });
const event = (name: string, property: string | null = null, value: string | null = null): Goal => ({
  ...rule,
  id: name,
  name,
  event: name,
  property,
  value,
});

/** Page views by path; custom events by name, properties and revenue. */
type Step = string | [name: string, props?: object, revenue?: string];

/** @param visitors their visits, each with its steps */
function partOf(...visitors: Step[][][]) {
  const part = new PartCollector();
  for (const [index, visits] of visitors.entries()) {
    for (const steps of visits) {
      part.addVisit([String(index), 0, 0, 0, false]);
      for (const step of steps) {
        const [name, props, revenue] = typeof step === "string" ? [null] : step;
        const path = typeof step === "string" ? step : "/elsewhere";
        const details = [null, props ? JSON.stringify(props) : null, revenue ?? null];
        part.addEvent([String(index), 0, null, null, null, name, path, ...details]);
      }
    }
  }
  return part.finish();
}

const all = (part: ReturnType<typeof partOf>) => new Uint8Array(part.visits.count).fill(1);

async function count(part: ReturnType<typeof partOf>, goals: Goal[], matching = all(part)) {
  const tallies = goals.map(noTally);
  await countGoals(tallies, part, { goals, matching, work: testWork() });
  return tallies.map(({ visitors, count, revenue }) => [visitors, count, toRevenue(revenue)]);
}

async function walk(part: ReturnType<typeof partOf>, steps: Goal[], matching = all(part)) {
  const funnels = [steps.toReversed(), steps];
  const reached = funnels.map((goals) => goals.map(() => 0));
  await walkFunnels(reached, part, { funnels, matching, work: testWork() });
  return reached[1];
}

describe("a goal", () => {
  it("counts views and events, and each visitor once", async () => {
    const part = partOf([["/a", "/b", ["/a"]], ["/a"]], [[["signup"], ["signup"]]], [["/"]]);
    expect(await count(part, [page("/a"), page("/*"), event("signup"), event("/a"), event("")])).toEqual([
      [1, 2, []],
      [2, 4, []],
      [1, 2, []],
      [1, 1, []],
      [0, 0, []],
    ]);
    expect(await count(part, [page("/a"), event("signup")], Uint8Array.of(1, 0, 0, 1))).toEqual([
      [1, 1, []],
      [0, 0, []],
    ]);
    expect(countVisitors(part, all(part))).toBe(2);
    expect(countVisitors(part, Uint8Array.of(0, 1, 1, 0))).toBe(1);
  });

  it("with a property counts events whose property has the value as text", async () => {
    const props = [
      { plan: "pro" },
      { plan: true },
      { plan: 1.5 },
      { plan: "" },
      { other: "pro" },
      JSON.parse('{"__proto__":"x"}'),
    ];
    const part = partOf([props.map((one): Step => ["signup", one])], [[["signup"]]]);
    const of = async (property: string, value: string) =>
      (await count(part, [event("signup", property, value)]))[0]?.[1];
    const values = ["pro", "true", "1.5", "", "Pro", "undefined"];
    expect(await Promise.all(values.map((value) => of("plan", value)))).toEqual([1, 1, 1, 1, 0, 0]);
    const others = [of("__proto__", "x"), of("toString", ""), of("constructor", "x")];
    expect(await Promise.all(others)).toEqual([1, 0, 0]);
  });

  it("sums revenue by currency, without floats", async () => {
    const amounts = ["EUR 0.1", "EUR 0.2", "USD -5.000000", "EUR 999999999999999999.999999", "XAU 10", "XAU -10"];
    const part = partOf([amounts.map((amount): Step => ["buy", {}, amount])], [[["other", {}, "EUR 7"], ["buy"]]]);
    expect(await count(part, [event("buy")])).toEqual([
      [
        2,
        7,
        [
          { currency: "EUR", amount: "1000000000000000000.299999" },
          { currency: "USD", amount: "-5" },
          { currency: "XAU", amount: "0" },
        ],
      ],
    ]);
  });
});

describe("a funnel", () => {
  const steps = [page("/a"), event("x"), page("/a*")];

  it("counts visitors by how far they went in its order, over their visits of the day", async () => {
    const part = partOf(
      [["/a", "/z", ["x"], "/a"]],
      [["/a"], [["x"], ["x"]]],
      [[["x"], "/a"]],
      [["/z"]],
      [["/a", "/ab", "/ac", ["x"]], ["/ad"]],
    );
    expect(await walk(part, steps)).toEqual([4, 3, 2]);
    expect(await walk(part, steps, Uint8Array.of(1, 0, 1, 1, 1, 1, 0))).toEqual([3, 2, 1]);
  });

  it("takes one event for one step alone", async () => {
    expect(await walk(partOf([["/a"]], [["/a", "/a"]]), [page("/a"), page("/a")])).toEqual([2, 1]);
    expect(await walk(partOf([["/b", "/a"]]), [page("*"), page("/a"), page("/a")])).toEqual([1, 1, 0]);
  });
});
