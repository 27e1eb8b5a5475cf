import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import { collectParts, readDayRows, type SiteDay } from "../columns/collect-part.js";
import type { DayPart } from "../columns/day-part.js";
import { addRevenue, matchGoals, readRevenue, toRevenue } from "../goals/count-goals.js";
import { type Goal, listGoals } from "../goals/goals.query.js";
import { createWork, type Work } from "../work.js";
import { type CostDimension, type CostSums, costDimensions } from "./costs.query.js";
import { type Group, type Groupable, groupSafely } from "./safe-groups.js";

/** What agents did for a visit. Those of a visitor's other visits come with it, also without runs. */
export interface VisitRuns {
  readonly visitor: string;
  readonly runs: number;
  readonly failures: number;
  /** In units of 10^-12 dollars. */
  readonly cost: bigint;
  readonly durationMs: number;
}

interface Visit extends VisitRuns, Groupable {
  readonly conversions: number;
  readonly revenue: ReadonlyMap<string, bigint>;
}

/** Of a group; the others are left out of its revenue. */
const maxCurrencies = 20;

/**
 * Sums what a day's visits cost, as groups of at least five visitors.
 * @param client in a transaction that sees one moment
 * @param runs of all visits of some visitors, in the order of {@link readDayRows}
 */
export async function sumCosts(client: pg.ClientBase, day: SiteDay, runs: readonly VisitRuns[]): Promise<CostSums[]> {
  const goals = await listGoals(client, day.siteId);
  const visitors = [...new Set(runs.map(({ visitor }) => visitor))];
  const work = createWork({ owner: day.siteId, turn: () => setImmediate() });
  const visits: Visit[] = [];
  let place = 0;
  for await (const part of collectParts(readDayRows(client, day, { details: true }, visitors), {
    needs: { details: true },
  })) {
    const found = await visitsOf(part, runs.slice(place, place + part.visits.count), goals, work);
    place += part.visits.count;
    visits.push(...found);
  }
  if (place !== runs.length) throw new Error(`The day has ${place} visits of these visitors, not ${runs.length}`);
  const groups = await groupSafely(visits, costDimensions.length, () => setImmediate());
  const sums: CostSums[] = [];
  for (const [n, dimension] of costDimensions.entries()) {
    for (const group of groups[n] ?? []) {
      sums.push(sumOf(dimension, group));
      await setImmediate();
    }
  }
  return sums;
}

/** The visits of a part that have runs, with what they did for the goals. */
async function visitsOf(part: DayPart, runs: readonly VisitRuns[], goals: readonly Goal[], work: Work) {
  const { source, channel, entryPage } = part.visits.dimensions;
  const textOf = ({ values, ids }: typeof source, visit: number) => values[ids[visit] ?? 0] ?? "";
  const convert = await openGoals(part, goals, work);
  const visits: Visit[] = [];
  for (const [visit, own] of runs.entries()) {
    if (own.runs === 0) continue;
    const converted = await convert(visit);
    const values = { channel: textOf(channel, visit), source: textOf(source, visit), page: textOf(entryPage, visit) };
    const lists = { channel: [values.channel], source: [values.source], page: [values.page], goal: converted.goals };
    const valuesOf = (dimension: number) => lists[costDimensions[dimension] ?? "goal"];
    visits.push({ ...own, ...converted, valuesOf });
    if (work.spend(500)) await work.rest();
  }
  return visits;
}

/** Makes the function that finds a visit's conversions: events and page views that fulfil a goal, each once. */
async function openGoals({ visits, events }: DayPart, goals: readonly Goal[], work: Work) {
  const { words, candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  const revenues = events.details?.revenue;
  return async (visit: number) => {
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    const reached = new Set<string>();
    const revenue = new Map<string, bigint>();
    let conversions = 0;
    for (let event = first; event < end; event++) {
      let fulfilled = 0;
      for (let word = 0; word < words; word++) {
        for (let bits = candidates(event, word); bits !== 0; bits &= bits - 1) {
          const goal = 32 * word + 31 - Math.clz32(bits & -bits);
          if (work.spend(50)) await work.rest();
          if (!fulfils(goal, event)) continue;
          fulfilled++;
          reached.add(goals[goal]?.name ?? "");
        }
      }
      if (work.spend(10 + words)) await work.rest();
      if (fulfilled === 0) continue;
      conversions++;
      const amount = readRevenue(revenues?.values[revenues.ids[event] ?? 0] ?? "");
      if (amount) addRevenue(revenue, amount);
    }
    return { goals: [...reached], conversions, revenue };
  };
}

function sumOf(dimension: CostDimension, { value, visits }: Group<Visit>): CostSums {
  const revenue = new Map<string, bigint>();
  let [cost, runs, failures, durationMs, conversions] = [0n, 0, 0, 0, 0];
  for (const visit of visits) {
    cost += visit.cost;
    runs += visit.runs;
    failures += visit.failures;
    durationMs += visit.durationMs;
    conversions += visit.conversions;
    for (const amount of visit.revenue) addRevenue(revenue, amount);
  }
  const sums = { visits: visits.length, runs, failures, durationMs, conversions };
  const money = { cost: String(cost), revenue: toRevenue(revenue).slice(0, maxCurrencies) };
  return { dimension, value: value ?? otherValue, ...sums, ...money };
}
