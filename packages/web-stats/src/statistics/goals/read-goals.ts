import type pg from "pg";
import type { ColumnReader } from "../columns/day-columns.js";
import type { Filter } from "../filters/filter.js";
import { matchVisits, needsOf } from "../filters/match-visits.js";
import type { Days } from "../range.js";
import { readEventDays } from "../statistics.query.js";
import { countAnonymous, readDayCounts } from "./anonymous-events.query.js";
import { countGoals, countVisitors, noTally, type Revenue, toRevenue } from "./count-goals.js";
import { type Funnel, requireFunnel } from "./funnels.query.js";
import type { Goal } from "./goal.js";
import { listGoals } from "./goals.query.js";
import { walkFunnel } from "./walk-funnel.js";

export interface GoalsQuery {
  siteId: string;
  days: Days;
  /** Their visits count alone; all without one. */
  filters: readonly Filter[];
}

interface GoalDeps {
  pool: pg.Pool;
  columns: ColumnReader;
}

/** The first and last day that an answer is of, where it is not of all asked days; null for none. */
interface Coverage {
  coverage?: { from: string | null; to: string | null };
}

export interface GoalFigures {
  id: string;
  name: string;
  /** Over several days the sum of the daily visitors. */
  visitors: number;
  count: number;
  /** The share of the visitors, 0 to 1. */
  conversionRate: number;
  /** By currency, where events had any. */
  revenue?: Revenue[];
}

/** Reads what visitors did for each goal of a site, oldest goal first. Without filters, events without a visitor count too. */
export async function readGoals(deps: GoalDeps, query: GoalsQuery): Promise<{ goals: GoalFigures[] } & Coverage> {
  const { siteId, filters } = query;
  const goals = await listGoals(deps.pool, siteId);
  const { days, ...coverage } = await findDays(deps.pool, query);
  const tallies = goals.map(noTally);
  let all = 0;
  if (days && goals.length > 0) {
    const isAll = filters.length === 0;
    const counts = isAll ? await readDayCounts(deps.pool, { siteId, days }) : new Map<string, number>();
    const needs = { details: needsOf(filters).details || goals.some(({ event }) => event !== null) };
    let known = 0;
    const { work } = deps.columns;
    await deps.columns.read(
      { siteId, days, needs },
      async ({ part }) => {
        const { visits: matching } = await matchVisits(part, filters, work);
        await countGoals(tallies, part, { goals, matching, work });
        all += countVisitors(part, matching);
        known += part.events.count;
      },
      async (day) => {
        if (isAll && known !== counts.get(day)) await countAnonymous(deps.pool, { siteId, day, goals, tallies, work });
        known = 0;
      },
    );
  }
  const figures = goals.map(({ id, name }, index): GoalFigures => {
    const { visitors, count, revenue } = tallies[index] ?? noTally();
    const conversionRate = shareOf(visitors, all);
    return { id, name, visitors, count, conversionRate, ...(revenue.size > 0 && { revenue: toRevenue(revenue) }) };
  });
  return { goals: figures, ...coverage };
}

export interface FunnelFigures extends Pick<Funnel, "id" | "name"> {
  steps: {
    goalId: string;
    name: string;
    visitors: number;
    /** The share lost since the step before; 0 at the first. */
    dropOff: number;
    /** The share of the first step's visitors. */
    conversionRate: number;
  }[];
}

/** Reads how far visitors went in a funnel on one day. @throws AppError 404 when the site has no such funnel */
export async function readFunnel(
  deps: GoalDeps,
  { funnelId, ...query }: GoalsQuery & { funnelId: string },
): Promise<FunnelFigures & Coverage> {
  const { siteId, filters } = query;
  const { id, name, steps } = await requireFunnel(deps.pool, siteId, funnelId);
  const { days, ...coverage } = await findDays(deps.pool, query);
  const reached = steps.map(() => 0);
  if (days) {
    const needs = { details: needsOf(filters).details || steps.some(({ property }) => property !== null) };
    const { work } = deps.columns;
    await deps.columns.read({ siteId, days, needs }, async ({ part }) => {
      const { visits: matching } = await matchVisits(part, filters, work);
      await walkFunnel(reached, part, { steps, matching, work });
    });
  }
  return { id, name, steps: steps.map((goal, step) => toStep(goal, reached, step)), ...coverage };
}

function toStep({ id: goalId, name }: Goal, reached: readonly number[], step: number): FunnelFigures["steps"][number] {
  const [visitors = 0, before = 0, first = 0] = [reached[step], reached[step - 1], reached[0]];
  const dropOff = shareOf(before - visitors, before);
  return { goalId, name, visitors, dropOff, conversionRate: shareOf(visitors, first) };
}

/** Custom events alone make no visitor of the site, but may fulfil a goal; a rate stays at most 1. */
function shareOf(visitors: number, all: number): number {
  return all === 0 ? 0 : Math.min(1, visitors / all);
}

/** The days with events among those asked for. */
async function findDays(pool: pg.Pool, { siteId, days }: GoalsQuery): Promise<{ days: Days | undefined } & Coverage> {
  const coverage = await readEventDays(pool, { siteId, ...days });
  if (!coverage) return { days };
  const { from, to } = coverage;
  return { days: from !== null && to !== null ? { first: from, last: to } : undefined, coverage };
}
