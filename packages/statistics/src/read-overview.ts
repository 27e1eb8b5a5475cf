import type pg from "pg";
import { type Counts, type Point, readDays } from "./days.query.js";
import { hasHours } from "./hours.query.js";
import { createKeptDays } from "./kept-days.js";
import { type Days, daysOfLastYear, previousDays, toDay } from "./range.js";

export const comparisons = ["previous", "year", "off"] as const;

/** What a range is compared with: the days before it, the same days a year before, nothing. */
export type Comparison = (typeof comparisons)[number];

/** A range's figures over time, beside those of another time. */
export interface Overview {
  /** Hours for a single day with raw events, else days. */
  interval: "day" | "hour";
  totals: Counts;
  /** In order, without the time to come. The visitors of hours are not those of the day: somebody may come in two hours. */
  series: Point[];
  comparison?: {
    from: string;
    to: string;
    /** Of the same part: where the range has the present day, its counterpart ends at the same time of the day. */
    totals: Counts;
    /** The end of that part, a whole minute; absent where whole days are compared. */
    until?: string;
    /** Of the whole time, so that a chart shows how the day went on. */
    series: Point[];
  };
}

interface OverviewQuery {
  siteId: string;
  range: Days;
  comparison: Comparison;
  now: Date;
}

/** Above this, a day has no hours and counts whole: a first read of it would take a processor more than 0.75 s. */
const maxEventsForHours = 500_000;

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** Makes a function that reads the figures of a range over time, and what they are compared with, by one statement at a time. */
export function createOverviewReader(pool: pg.Pool): (query: OverviewQuery) => Promise<Overview> {
  const keptDays = createKeptDays(pool);
  return (query) => readOverview(pool, keptDays, query);
}

type KeptDays = ReturnType<typeof createKeptDays>;

async function readOverview(pool: pg.Pool, keptDays: KeptDays, query: OverviewQuery): Promise<Overview> {
  const { siteId, range, now } = query;
  const days = await readDays(pool, { siteId, ...range });
  const other = otherDays(query.comparison, range);
  const otherPoints = other && (await readDays(pool, { siteId, ...other }));
  const isHourly =
    days.length === 1 &&
    [...days, ...(otherPoints ?? [])].every(hasFew) &&
    (await hasHours(pool, other && other.first < range.first ? other.first : range.first));
  const seriesOf = async (points: Point[], until: Date) => {
    const [day] = points;
    return isHourly && day ? await keptDays.hours(siteId, day, until) : points;
  };
  return {
    interval: isHourly ? "hour" : "day",
    totals: sum(days),
    series: await seriesOf(days, now),
    ...(other &&
      otherPoints && {
        comparison: {
          from: other.first,
          to: other.last,
          ...(await readComparable(pool, keptDays, { ...query, other, points: otherPoints })),
          series: await seriesOf(otherPoints, endOf(other.first)),
        },
      }),
  };
}

function otherDays(comparison: Comparison, range: Days): Days | undefined {
  if (comparison === "off") return undefined;
  return comparison === "year" ? daysOfLastYear(range) : previousDays(range);
}

/** Sums the other days up to the time of the day that the range has come to. */
async function readComparable(
  pool: pg.Pool,
  keptDays: KeptDays,
  { siteId, range, now, other, points }: OverviewQuery & { other: Days; points: readonly Point[] },
): Promise<{ totals: Counts; until?: string }> {
  const reached = toDay(now.getTime());
  const counterpart = points[(Date.parse(reached) - Date.parse(range.first)) / dayMs];
  const isPart = reached >= range.first && reached <= range.last && counterpart !== undefined;
  if (!isPart || !hasFew(counterpart) || !(await hasHours(pool, counterpart.at))) return { totals: sum(points) };
  const timeOfDay = now.getTime() % dayMs;
  const until = new Date(Date.parse(counterpart.at) + timeOfDay - (timeOfDay % minuteMs));
  const part = await keptDays.until(siteId, counterpart, until);
  const before = points.filter(({ at }) => at < counterpart.at && at >= other.first);
  return { totals: sum([...before, part]), until: until.toISOString() };
}

function hasFew({ pageviews, events }: Counts): boolean {
  return pageviews + events <= maxEventsForHours;
}

function endOf(day: string): Date {
  return new Date(Date.parse(day) + dayMs);
}

function sum(counts: readonly Counts[]): Counts {
  const totals = { visitors: 0, pageviews: 0, events: 0 };
  for (const { visitors, pageviews, events } of counts) {
    totals.visitors += visitors;
    totals.pageviews += pageviews;
    totals.events += events;
  }
  return totals;
}
