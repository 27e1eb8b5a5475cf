import type { DayPart } from "../columns/day-part.js";
import type { Work } from "../work.js";
import type { Goal } from "./goal.js";
import { matchGoals } from "./match-goals.js";

/** An amount of a currency. The amount is a decimal as text, since floats are not exact. */
export interface Revenue {
  currency: string;
  amount: string;
}

/** Millionths by currency. */
export type RevenueSums = Map<string, bigint>;

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

/** By currency in order, without trailing zeros. */
export function toRevenue(sums: RevenueSums): Revenue[] {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, millionths]) => ({ currency, amount: toDecimal(millionths) }));
}

function toDecimal(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -decimals)}${fraction && `.${fraction}`}`;
}

/** What visitors did for a goal. */
export interface GoalTally {
  /** Each counts once a day. */
  visitors: number;
  count: number;
  readonly revenue: RevenueSums;
}

export function noTally(): GoalTally {
  return { visitors: 0, count: 0, revenue: new Map() };
}

/**
 * Adds what the matching visits of a part did for goals.
 * @param tallies in the order of the goals
 * @param matching 1 for each visit that counts
 */
export async function countGoals(
  tallies: readonly GoalTally[],
  part: DayPart,
  { goals, matching, work }: { goals: readonly Goal[]; matching: Uint8Array; work: Work },
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
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
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

/** Counts the visitors with a page view in a matching visit. */
export function countVisitors({ visits }: DayPart, matching: Uint8Array): number {
  let [count, last] = [0, -1];
  for (let visit = 0; visit < visits.count; visit++) {
    const visitor = visits.visitor[visit] ?? 0;
    if (matching[visit] === 0 || visits.views[visit] === 0 || visitor === last) continue;
    last = visitor;
    count++;
  }
  return count;
}
