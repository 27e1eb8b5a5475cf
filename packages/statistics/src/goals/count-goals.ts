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
  const { isCandidate, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  const revenues = events.details?.revenue;
  const amounts: ReturnType<typeof readRevenue>[] = [];
  for (const text of revenues?.values ?? []) {
    amounts.push(readRevenue(text));
    if (work.spend(50)) await work.rest();
  }
  const lastVisitor = new Int32Array(goals.length).fill(-1);
  for (let visit = 0; visit < visits.count; visit++) {
    if (matching[visit] === 0) continue;
    const visitor = visits.visitor[visit] ?? 0;
    const end = visits.firstEvent[visit + 1] ?? 0;
    for (let event = visits.firstEvent[visit] ?? 0; event < end; event++) {
      if (work.spend(2)) await work.rest();
      if (!isCandidate(event)) continue;
      if (work.spend(2 * tallies.length)) await work.rest();
      for (const [goal, tally] of tallies.entries()) {
        if (!fulfils(goal, event)) continue;
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
