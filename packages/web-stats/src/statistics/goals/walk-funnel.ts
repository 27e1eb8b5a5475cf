import type { DayPart } from "../columns/day-part.js";
import type { Work } from "../work.js";
import type { Goal } from "./goal.js";
import { matchGoals } from "./match-goals.js";

/**
 * Adds the visitors of a part who did a funnel's steps in their order in matching visits, other things between allowed. An event
 * fulfils one step; the earliest event of each step leaves the most for the others.
 * @param reached visitors by step
 * @param matching 1 for each visit that counts
 */
export async function walkFunnel(
  reached: number[],
  part: DayPart,
  { steps, matching, work }: { steps: readonly Goal[]; matching: Uint8Array; work: Work },
): Promise<void> {
  const { visits, events } = part;
  const { candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, steps, work);
  let [visitor, step] = [-1, 0];
  for (let visit = 0; visit < visits.count; visit++) {
    if (matching[visit] === 0) continue;
    if (visits.visitor[visit] !== visitor) {
      visitor = visits.visitor[visit] ?? 0;
      step = 0;
    }
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    if (work.spend(end - first)) await work.rest();
    for (let event = first; event < end && step < steps.length; event++) {
      if ((candidates(event, 0) & (1 << step)) === 0 || !fulfils(step, event)) continue;
      reached[step] = (reached[step] ?? 0) + 1;
      step++;
    }
  }
}
