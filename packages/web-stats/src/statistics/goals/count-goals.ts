import type { DayPart } from "../columns/day-part.js";
import type { Work } from "../work.js";
import type { Goal } from "./goal.js";
import { matchGoals } from "./match-goals.js";
import { addRevenue, type RevenueSums, readRevenue } from "./revenue.js";

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
