import type { DayPart, TextColumn } from "../columns/day-part.js";
import { createFinder } from "../filters/filter.js";
import type { Work } from "../work.js";
import type { Goal } from "./goals.query.js";

/** Tests paths by a pattern, where `*` stands for any text: it looks at a path once, whatever the pattern. */
export function compilePattern(pattern: string) {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return { matches: (path: string) => path === pattern, isSearch: false };
  const finders = rest.filter((part) => part !== "").map((part) => createFinder([part]));
  const matches = (path: string) => {
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const find of finders) {
      at = find(path, at);
      if (at < 0) return false;
    }
    return path.length - last.length >= at && path.endsWith(last);
  };
  return { matches, isSearch: finders.length > 0 };
}

type Rule = Pick<Goal, "event" | "property" | "value" | "page">;

interface EventColumns {
  /** Id 0 stands for a page view. */
  readonly names: TextColumn;
  readonly pages: TextColumn;
  /** JSON; undefined where no goal has a property. */
  readonly props: TextColumn | undefined;
}

/** The values that fulfil each goal, a bit for each pair: a hundred goals of ten thousand values are 160 kB. */
class Bits {
  readonly words: number;
  readonly bits: Int32Array;

  constructor(goals: number, values: number) {
    this.words = Math.ceil(goals / 32);
    this.bits = new Int32Array(this.words * values);
  }

  set(goal: number, value: number): void {
    const word = value * this.words + (goal >>> 5);
    this.bits[word] = (this.bits[word] ?? 0) | (1 << (goal & 31));
  }

  has(goal: number, value: number): boolean {
    return ((this.bits[value * this.words + (goal >>> 5)] ?? 0) & (1 << (goal & 31))) !== 0;
  }
}

/** Tests each page, name and combination of properties once, in slices of work. */
export async function matchGoals({ names, pages, props }: EventColumns, goals: readonly Rule[], work: Work) {
  const ofPage = new Bits(goals.length, pages.values.length);
  const ofName = new Bits(goals.length, names.values.length);
  for (const [goal, { page, event }] of goals.entries()) {
    if (page !== null) await matchPages(ofPage, goal, { page, pages, work });
    const name = event === null ? -1 : names.values.indexOf(event, 1);
    if (name > 0) ofName.set(goal, name);
    if (work.spend(names.values.length)) await work.rest();
  }
  const ofProps = await matchProps(props, goals, work);
  const [nameIds, pageIds, { words }] = [names.ids, pages.ids, ofPage];
  const [pageBits, nameBits] = [ofPage.bits, ofName.bits];
  const hasProperty = goals.map(({ property }) => property !== null);
  return {
    /** Of `candidates`: one for each 32 goals. */
    words,
    /** The goals of an event by its page or name, as bits: goal 33 is the second one of word 1. */
    candidates(event: number, word: number): number {
      const name = nameIds[event] ?? 0;
      return (name === 0 ? pageBits[(pageIds[event] ?? 0) * words + word] : nameBits[name * words + word]) ?? 0;
    },
    /** Whether an event has the property of a candidate, if that has one. */
    fulfils: (goal: number, event: number): boolean => !hasProperty[goal] || ofProps.has(goal, props?.ids[event] ?? 0),
  };
}

async function matchPages(
  bits: Bits,
  goal: number,
  { page, pages, work }: { page: string; pages: TextColumn; work: Work },
): Promise<void> {
  const { matches, isSearch } = compilePattern(page);
  if (work.spend(20 * page.length)) await work.rest();
  for (const [id, path] of pages.values.entries()) {
    if (isSearch ? work.look(path.length) : work.spend(10)) await work.rest();
    if (matches(path)) bits.set(goal, id);
  }
}

async function matchProps(props: TextColumn | undefined, goals: readonly Rule[], work: Work): Promise<Bits> {
  const asking = [...goals.entries()].filter(([, { property }]) => property !== null);
  if (asking.length === 0) return new Bits(0, 0);
  if (!props) throw new Error("The events were read without their properties");
  const bits = new Bits(goals.length, props.values.length);
  for (const [id, json] of props.values.entries()) {
    if (work.look(5 * json.length + 10 * asking.length)) await work.rest();
    if (json === "") continue;
    const values = JSON.parse(json) as Record<string, unknown>;
    for (const [goal, { property, value }] of asking) {
      if (property !== null && Object.hasOwn(values, property) && String(values[property]) === value)
        bits.set(goal, id);
    }
  }
  return bits;
}

type RevenueSums = Map<string, bigint>;

const decimals = 6;

/** @param text as a part has it: `EUR -12.5`; empty for none */
export function readRevenue(text: string): [currency: string, millionths: bigint] | undefined {
  const [, currency, sign, whole, fraction = ""] = /^([A-Z]{3}) (-?)(\d+)(?:\.(\d{1,6})0*)?$/.exec(text) ?? [];
  if (currency === undefined) return undefined;
  const millionths = BigInt(`${whole}${fraction.padEnd(decimals, "0")}`);
  return [currency, sign === "-" ? -millionths : millionths];
}

export function addRevenue(sums: RevenueSums, [currency, millionths]: readonly [string, bigint]): void {
  sums.set(currency, (sums.get(currency) ?? 0n) + millionths);
}

/** Decimals as text, since floats are not exact, by currency in order, without trailing zeros. */
export function toRevenue(sums: RevenueSums): { currency: string; amount: string }[] {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, millionths]) => ({ currency, amount: toDecimal(millionths) }));
}

function toDecimal(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -decimals)}${fraction && `.${fraction}`}`;
}

export interface GoalTally {
  /** Each counts once a day. */
  visitors: number;
  count: number;
  readonly revenue: RevenueSums;
}

export function noTally(): GoalTally {
  return { visitors: 0, count: 0, revenue: new Map() };
}

export async function countGoals(
  tallies: readonly GoalTally[],
  part: DayPart,
  {
    goals,
    matching,
    work,
    beforeMs,
  }: { goals: readonly Goal[]; matching: Uint8Array; work: Work; beforeMs?: number | undefined },
): Promise<void> {
  const { visits, events } = part;
  const { words, candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  const revenues = events.details?.revenue;
  const amounts: ReturnType<typeof readRevenue>[] = [];
  for (const text of revenues?.values ?? []) {
    amounts.push(readRevenue(text));
    if (work.spend(50)) await work.rest();
  }
  const lastVisitor = new Int32Array(goals.length).fill(-1);
  let counted = 0;
  for (let visit = 0; visit < visits.count; visit++) {
    if (matching[visit] === 0) continue;
    const visitor = visits.visitor[visit] ?? 0;
    const [first, end] = eventsOf(part, visit, beforeMs);
    if (work.spend(end - first)) await work.rest();
    for (let event = first; event < end; event++) {
      for (let word = 0; word < words; word++) {
        for (let bits = candidates(event, word); bits !== 0; bits &= bits - 1) {
          const goal = 32 * word + 31 - Math.clz32(bits & -bits);
          const tally = tallies[goal];
          if (++counted % 2_000 === 0 && work.spend(20_000)) await work.rest();
          if (!tally || !fulfils(goal, event)) continue;
          tally.count++;
          const amount = amounts[revenues?.ids[event] ?? 0];
          if (amount) addRevenue(tally.revenue, amount);
          if (lastVisitor[goal] === visitor) continue;
          lastVisitor[goal] = visitor;
          tally.visitors++;
        }
      }
    }
  }
}

/** A visit's events, first and end, before a time of the day in milliseconds; all without one. */
function eventsOf({ visits, events }: DayPart, visit: number, beforeMs: number | undefined): [number, number] {
  const first = visits.firstEvent[visit] ?? 0;
  let end = visits.firstEvent[visit + 1] ?? 0;
  if (beforeMs !== undefined) while (end > first && (events.times?.[end - 1] ?? 0) >= beforeMs) end--;
  return [first, end];
}

export function countVisitors(part: DayPart, matching: Uint8Array, beforeMs?: number): number {
  const { visits, events } = part;
  const isEarly = (visit: number) => {
    if (beforeMs === undefined) return true;
    const [first, end] = eventsOf(part, visit, beforeMs);
    return events.names.ids.subarray(first, end).includes(0);
  };
  let [count, last] = [0, -1];
  for (let visit = 0; visit < visits.count; visit++) {
    const visitor = visits.visitor[visit] ?? 0;
    if (matching[visit] === 0 || visits.views[visit] === 0 || visitor === last || !isEarly(visit)) continue;
    last = visitor;
    count++;
  }
  return count;
}

/**
 * Adds the visitors of a part who did each funnel's steps in their order in matching visits, other things between allowed. An event
 * fulfils one step; the earliest event of each step leaves the most for the others.
 */
export async function walkFunnels(
  reached: readonly number[][],
  part: DayPart,
  {
    funnels,
    matching,
    work,
    beforeMs,
  }: { funnels: readonly (readonly Goal[])[]; matching: Uint8Array; work: Work; beforeMs?: number | undefined },
): Promise<void> {
  const { visits, events } = part;
  const goals = [...new Map(funnels.flat().map((goal) => [goal.id, goal])).values()];
  const { candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  for (const [funnel, steps] of funnels.entries()) {
    const own = steps.map(({ id }) => goals.findIndex((goal) => goal.id === id));
    const counts = reached[funnel] ?? [];
    let [visitor, step] = [-1, 0];
    for (let visit = 0; visit < visits.count; visit++) {
      if (matching[visit] === 0) continue;
      if (visits.visitor[visit] !== visitor) {
        visitor = visits.visitor[visit] ?? 0;
        step = 0;
      }
      const [first, end] = eventsOf(part, visit, beforeMs);
      if (work.spend(end - first)) await work.rest();
      for (let event = first; event < end && step < own.length; event++) {
        const goal = own[step] ?? 0;
        if ((candidates(event, goal >>> 5) & (1 << (goal & 31))) === 0 || !fulfils(goal, event)) continue;
        counts[step] = (counts[step] ?? 0) + 1;
        step++;
      }
    }
  }
}
