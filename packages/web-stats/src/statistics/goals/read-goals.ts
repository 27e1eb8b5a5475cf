import { inTransaction, withConnection } from "@waymark/database";
import type pg from "pg";
import { z } from "zod";
import { fetchBatches } from "../columns/collect-part.js";
import type { ColumnReader } from "../columns/day-columns.js";
import { TextCollector } from "../columns/part-blocks.js";
import { type Comparison, counterpartOf, otherDays } from "../comparison.js";
import { type Filter, matchVisits, needsOf } from "../filters/filter.js";
import { type Days, eventSpan } from "../range.js";
import { type Coverage, readDayTotals, readEventDays } from "../statistics.query.js";
import type { Work } from "../work.js";
import {
  addRevenue,
  countGoals,
  countVisitors,
  type GoalTally,
  matchGoals,
  noTally,
  readRevenue,
  toRevenue,
  walkFunnels,
} from "./count-goals.js";
import { type Funnel, type Goal, type GoalInput, listGoals, readGoal, requireFunnel } from "./goals.query.js";

type AnonymousRow = [
  name: string | null,
  path: string | null,
  props: string | null,
  count: number,
  currency: string | null,
  amount: string | null,
];

/** A UTC day's events of some names, and page views, without a visitor; alike ones are one row. Reads a range of `event_pkey`. */
const readAnonymousSql = `
  SELECT name, CASE WHEN type = 'pageview' THEN path END AS path, CASE WHEN $8 THEN props::text END AS props,
    count(*)::float8 AS count, revenue_currency AS currency, sum(revenue_amount)::text AS amount
  FROM event
  WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4 AND at < $5 AND visitor IS NULL
    AND (type = 'event' AND name = ANY ($6::text[]) OR type = 'pageview' AND $7)
  GROUP BY 1, 2, 3, revenue_currency`;

async function countAnonymous(
  pool: pg.Pool,
  asked: {
    siteId: string;
    day: string;
    beforeMs: number | undefined;
    goals: readonly Goal[];
    tallies: readonly GoalTally[];
    work: Work;
  },
): Promise<void> {
  const { siteId, day, beforeMs, goals } = asked;
  const [firstId, endId, start, end] = eventSpan(day);
  const values = [
    siteId,
    firstId,
    endId,
    start,
    beforeMs === undefined ? end : new Date(start.getTime() + beforeMs),
    goals.flatMap(({ event }) => event ?? []),
    goals.some(({ page }) => page !== null),
    goals.some(({ property }) => property !== null),
  ];
  await withConnection(pool, (client) =>
    inTransaction(client, async () => {
      const batches = fetchBatches<AnonymousRow>(client, { text: readAnonymousSql, values });
      for await (const rows of batches) await addRows(rows, asked);
    }),
  );
}

async function addRows(
  rows: readonly AnonymousRow[],
  { goals, tallies, work }: { goals: readonly Goal[]; tallies: readonly GoalTally[]; work: Work },
): Promise<void> {
  const columnOf = (at: 0 | 1 | 2) => {
    const column = new TextCollector();
    for (const row of rows) column.push(row[at]);
    return column.finish();
  };
  const [names, pages, props] = [columnOf(0), columnOf(1), columnOf(2)];
  const { candidates, fulfils } = await matchGoals({ names, pages, props }, goals, work);
  for (const [index, [, , , count, currency, amount]] of rows.entries()) {
    if (work.spend(2 * tallies.length)) await work.rest();
    for (const [goal, tally] of tallies.entries()) {
      if ((candidates(index, goal >>> 5) & (1 << (goal & 31))) === 0 || !fulfils(goal, index)) continue;
      tally.count += count;
      const revenue = currency !== null && amount !== null ? readRevenue(`${currency} ${amount}`) : undefined;
      if (revenue) addRevenue(tally.revenue, revenue);
    }
  }
}

interface GoalsQuery {
  siteId: string;
  days: Days;
  /** Their visits count alone; all without one. */
  filters: readonly Filter[];
}

interface FiguresQuery extends GoalsQuery {
  goals: readonly Goal[];
  /** Counts the last day up to this time of it. */
  beforeMs?: number | undefined;
}

interface GoalDeps {
  pool: pg.Pool;
  columns: ColumnReader;
}

interface Covered {
  coverage?: Coverage;
}

export const goalFigures = z.object({
  id: z.string(),
  name: z.string(),
  visitors: z.number().describe("Each counts once a day"),
  count: z.number().describe("Page views or custom events, also those without a visitor where there is no filter"),
  conversionRate: z.number().describe("`visitors` by the unique visitors of the same days and filters, 0 to 1"),
  revenue: z
    .array(z.object({ currency: z.string(), amount: z.string().describe("A decimal, exact") }))
    .optional()
    .describe("Present where events had revenue"),
});

export type GoalFigures = z.infer<typeof goalFigures>;

/**
 * Reads what visitors did for goals, by default each of the site, oldest first. Without filters, events without a visitor
 * count too.
 */
export async function readGoals(
  deps: GoalDeps,
  { goals, ...query }: GoalsQuery & Partial<FiguresQuery>,
): Promise<{ goals: GoalFigures[] } & Covered> {
  const wanted = goals ?? (await listGoals(deps.pool, query.siteId));
  const { days, ...coverage } = await findDays(deps.pool, query);
  return { goals: await readFigures(deps, { ...query, goals: wanted, days }), ...coverage };
}

async function readFigures(
  deps: GoalDeps,
  { siteId, filters, goals, days, beforeMs }: Omit<FiguresQuery, "days"> & { days: Days | undefined },
): Promise<GoalFigures[]> {
  const tallies = goals.map(noTally);
  let all = 0;
  if (days && goals.length > 0) {
    const isAll = filters.length === 0;
    const totals = isAll ? await readDayTotals(deps.pool, { siteId, ...days }) : [];
    const counts = new Map(totals.map(({ value, pageviews, events }) => [value, pageviews + events]));
    const details = needsOf(filters).details || goals.some(({ event }) => event !== null);
    const endOf = (day: string) => (day === days.last ? beforeMs : undefined);
    let known = 0;
    const { work } = deps.columns;
    await deps.columns.read(
      { siteId, days, needs: { details, times: beforeMs !== undefined } },
      async ({ day, part }) => {
        const { visits: matching } = await matchVisits(part, filters, work);
        await countGoals(tallies, part, { goals, matching, work, beforeMs: endOf(day) });
        all += countVisitors(part, matching, endOf(day));
        known += part.events.count;
      },
      async (day) => {
        // More events than its visitors have are without a visitor.
        if (isAll && known !== counts.get(day))
          await countAnonymous(deps.pool, { siteId, day, beforeMs: endOf(day), goals, tallies, work });
        known = 0;
      },
    );
  }
  return goals.map(({ id, name }, index): GoalFigures => {
    const { visitors, count, revenue } = tallies[index] ?? noTally();
    const conversionRate = shareOf(visitors, all);
    return { id, name, visitors, count, conversionRate, ...(revenue.size > 0 && { revenue: toRevenue(revenue) }) };
  });
}

/** Reads what a rule would count as a goal. @throws AppError 400 by field for a rule that no goal may have */
export async function countRule(
  deps: GoalDeps,
  { rule, ...query }: GoalsQuery & { rule: Omit<GoalInput, "name"> },
): Promise<Omit<GoalFigures, "id" | "name"> & Covered> {
  const { goals, ...coverage } = await readGoals(deps, { ...query, goals: [{ id: "", ...readGoal(rule) }] });
  const { visitors = 0, count = 0, conversionRate = 0, revenue } = goals[0] ?? {};
  return { visitors, count, conversionRate, ...(revenue && { revenue }), ...coverage };
}

interface Compared {
  comparison: Comparison;
  now: Date;
}

/** The days that a range is compared with, up to the same time of the day; undefined without all their events. */
async function findDaysBefore(pool: pg.Pool, { siteId, days, comparison, now }: GoalsQuery & Compared) {
  const other = otherDays(comparison, days);
  if (!other || (await readEventDays(pool, { siteId, ...other }))) return undefined;
  const { first, last } = other;
  const part = counterpartOf(days, other, now);
  return {
    said: { from: first, to: last, ...(part && { until: part.until.toISOString() }) },
    days: { first, last: part?.day ?? last },
    beforeMs: part && part.until.getTime() - Date.parse(part.day),
  };
}

export async function readGoalsBefore(deps: GoalDeps, query: FiguresQuery & Compared) {
  const before = await findDaysBefore(deps.pool, query);
  return before && { ...before.said, goals: await readFigures(deps, { ...query, ...before }) };
}

export const funnelFigures = z.object({
  id: z.string(),
  name: z.string(),
  steps: z.array(
    z.object({
      goalId: z.string(),
      name: z.string(),
      visitors: z.number().describe("Those who did this step and all before it, in order, on one UTC day"),
      dropOff: z.number().describe("The share lost since the step before, 0 to 1; 0 at the first"),
      conversionRate: z.number().describe("`visitors` by those of the first step, 0 to 1"),
    }),
  ),
});

export type FunnelFigures = z.infer<typeof funnelFigures>;

/** Reads how far visitors went in a funnel on one day. @throws AppError 404 when the site has no such funnel */
export async function readFunnel(
  deps: GoalDeps,
  { funnelId, ...query }: GoalsQuery & { funnelId: string },
): Promise<FunnelFigures & Covered> {
  const funnel = await requireFunnel(deps.pool, query.siteId, funnelId);
  const { funnels, ...coverage } = await readFunnels(deps, { ...query, funnels: [funnel] });
  return { id: funnel.id, name: funnel.name, steps: [], ...funnels[0], ...coverage };
}

/** Reads funnels in one pass over the days. */
export async function readFunnels(
  deps: GoalDeps,
  { funnels, ...query }: GoalsQuery & { funnels: readonly Funnel[] },
): Promise<{ funnels: FunnelFigures[] } & Covered> {
  const { days, ...coverage } = await findDays(deps.pool, query);
  return { funnels: await readSteps(deps, { ...query, funnels, days }), ...coverage };
}

interface StepsQuery extends GoalsQuery, Pick<FiguresQuery, "beforeMs"> {
  funnels: readonly Funnel[];
}

export async function readFunnelsBefore(deps: GoalDeps, query: StepsQuery & Compared) {
  const before = await findDaysBefore(deps.pool, query);
  return before && { ...before.said, funnels: await readSteps(deps, { ...query, ...before }) };
}

async function readSteps(
  deps: GoalDeps,
  { siteId, filters, funnels, days, beforeMs }: Omit<StepsQuery, "days"> & { days: Days | undefined },
): Promise<FunnelFigures[]> {
  const reached = funnels.map(({ steps }) => steps.map(() => 0));
  if (days && funnels.length > 0) {
    const steps = funnels.map((funnel) => funnel.steps);
    const details = needsOf(filters).details || steps.flat().some(({ property }) => property !== null);
    const { work } = deps.columns;
    const needs = { details, times: beforeMs !== undefined };
    await deps.columns.read({ siteId, days, needs }, async ({ day, part }) => {
      const { visits: matching } = await matchVisits(part, filters, work);
      const end = day === days.last ? beforeMs : undefined;
      await walkFunnels(reached, part, { funnels: steps, matching, work, beforeMs: end });
    });
  }
  return funnels.map(({ id, name, steps }, funnel) => {
    const own = reached[funnel] ?? [];
    return { id, name, steps: steps.map((goal, step) => toStep(goal, own, step)) };
  });
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

async function findDays(pool: pg.Pool, { siteId, days }: GoalsQuery): Promise<{ days: Days | undefined } & Covered> {
  const coverage = await readEventDays(pool, { siteId, ...days });
  if (!coverage) return { days };
  const { from, to } = coverage;
  return { days: from !== null && to !== null ? { first: from, last: to } : undefined, coverage };
}
