import type pg from "pg";
import type { Channel } from "../../analytics/attribution/source-classifier.js";
import type { ColumnReader } from "../columns/day-columns.js";
import type { DayPart } from "../columns/day-part.js";
import { matchVisits, parseFilters } from "../filters/filter.js";
import { addRevenue, matchGoals, readRevenue } from "../goals/count-goals.js";
import { type Goal, listGoals } from "../goals/goals.query.js";
import type { Days } from "../range.js";
import { tooLong, type Work } from "../work.js";

const channel = "AI Assistants" satisfies Channel;
const filters = parseFilters(`channel:is:${channel}`);

/** Pages that visits of the asked days began with, in memory at once. */
const maxPages = 100_000;

export interface Referral {
  visits: number;
  /** Events and page views that fulfil a goal, each once. */
  conversions: number;
  readonly revenue: Map<string, bigint>;
}

export interface Referrals {
  readonly bySource: Map<string, Referral>;
  /** Visits by the page they began with. */
  readonly byPage: Map<string, number>;
  readonly byDay: Map<string, number>;
}

export async function readReferrals(
  { pool, columns }: { pool: pg.Pool; columns: ColumnReader },
  { siteId, days }: { siteId: string; days: Days },
): Promise<Referrals> {
  const goals = await listGoals(pool, siteId);
  const referrals: Referrals = { bySource: new Map(), byPage: new Map(), byDay: new Map() };
  const needs = { details: goals.some(({ event }) => event !== null) };
  const { work } = columns;
  await columns.read({ siteId, days, needs }, async ({ day, part }) => {
    const { visits: matching } = await matchVisits(part, filters, work);
    if (matching.includes(1)) await addPart(referrals, { day, part, matching, goals, work });
  });
  return referrals;
}

interface MatchedPart {
  readonly day: string;
  readonly part: DayPart;
  readonly matching: Uint8Array;
  readonly goals: readonly Goal[];
  readonly work: Work;
}

async function addPart({ bySource, byPage, byDay }: Referrals, matched: MatchedPart): Promise<void> {
  const { day, part, matching, work } = matched;
  const { source, entryPage } = part.visits.dimensions;
  const convert = await openConversions(matched);
  for (let visit = 0; visit < part.visits.count; visit++) {
    if (matching[visit] === 0) continue;
    const name = source.values[source.ids[visit] ?? 0] ?? "";
    const referral = bySource.get(name) ?? { visits: 0, conversions: 0, revenue: new Map() };
    bySource.set(name, referral);
    referral.visits++;
    const page = entryPage.values[entryPage.ids[visit] ?? 0] ?? "";
    if (page !== "") byPage.set(page, (byPage.get(page) ?? 0) + 1);
    byDay.set(day, (byDay.get(day) ?? 0) + 1);
    if (byPage.size > maxPages) throw tooLong("The days have too many pages");
    if (work.spend(20 + convert(referral, visit))) await work.rest();
  }
}

/** Makes the function that adds a visit's conversions. @returns its steps */
async function openConversions({ part, goals, work }: MatchedPart): Promise<(to: Referral, visit: number) => number> {
  if (goals.length === 0) return () => 0;
  const { visits, events } = part;
  const { words, candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  const revenues = events.details?.revenue;
  const isConversion = (event: number) => {
    for (let word = 0; word < words; word++) {
      for (let bits = candidates(event, word); bits !== 0; bits &= bits - 1) {
        if (fulfils(32 * word + 31 - Math.clz32(bits & -bits), event)) return true;
      }
    }
    return false;
  };
  return (to, visit) => {
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    for (let event = first; event < end; event++) {
      if (!isConversion(event)) continue;
      to.conversions++;
      const amount = readRevenue(revenues?.values[revenues.ids[event] ?? 0] ?? "");
      if (amount) addRevenue(to.revenue, amount);
    }
    return (end - first) * (10 + words);
  };
}
