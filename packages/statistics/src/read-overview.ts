import type pg from "pg";
import { type Counts, type PointSums, readDays } from "./days.query.js";
import { openFilteredSource } from "./filters/filtered-source.js";
import { hasHours } from "./hours.query.js";
import { createKeptDays } from "./kept-days.js";
import { type Metric, metricNames, toMetrics } from "./metrics.js";
import { type Days, daysOfLastYear, previousDays, toDay } from "./range.js";
import type { Filtering } from "./read-statistics.js";
import { noSums, readEventDays, type Sums, sumUp } from "./statistics.query.js";

export const comparisons = ["previous", "year", "off"] as const;

/** What a range is compared with: the days before it, the same days a year before, nothing. */
export type Comparison = (typeof comparisons)[number];

/** Visitors, page views and the API's metrics of a time. */
export type Figures = Counts & Record<Metric, number>;

/** The figures of a day (`2026-03-15`) or an hour (`2026-03-15T04`), in UTC. A visit counts in the hour that it begins in. */
type Point = Figures & { at: string };

/** A range's figures over time, beside those of another time. */
export interface Overview {
  /** Hours for a single day with raw events, else days. */
  interval: "day" | "hour";
  totals: Figures;
  /** In order, without the time to come. The visitors of hours are not those of the day: somebody may come in two hours. */
  series: Point[];
  comparison?: {
    from: string;
    to: string;
    /** Of the same part: where the range has the present day, its counterpart ends at the same time of the day. */
    totals: Figures;
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
  filtering?: Filtering | undefined;
}

/** Above this, a day has no hours and counts whole: a first read of it would take a processor more than 0.75 s. */
const maxEventsForHours = 500_000;

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** Where the figures of a site come from. */
interface Source {
  days(days: Days): Promise<PointSums[]>;
  /** The hours of a day up to a moment. */
  hours(day: PointSums, until: Date): Promise<PointSums[]>;
  /** The figures of a day before a whole minute of it. */
  until(day: PointSums, until: Date): Promise<Sums>;
}

/**
 * Makes a function that reads the figures of a range over time, and what they are compared with, by one statement at a time.
 * Under filters nothing is compared with days that lack events.
 */
export function createOverviewReader(pool: pg.Pool): (query: OverviewQuery) => Promise<Overview> {
  const keptDays = createKeptDays(pool);
  return async ({ siteId, filtering, ...query }) => {
    if (filtering) {
      const other = otherDays(query.comparison, query.range);
      const lacksEvents = other && (await readEventDays(pool, { siteId, ...other }));
      const comparison = lacksEvents ? "off" : query.comparison;
      return readOverview(pool, openFilteredSource(filtering, siteId), { ...query, comparison });
    }
    const source: Source = {
      days: (days) => readDays(pool, { siteId, ...days }),
      hours: (day, until) => keptDays.hours(siteId, day, until),
      until: (day, until) => keptDays.until(siteId, day, until),
    };
    return readOverview(pool, source, query);
  };
}

type SourceQuery = Omit<OverviewQuery, "siteId" | "filtering">;

async function readOverview(pool: pg.Pool, source: Source, query: SourceQuery): Promise<Overview> {
  const { range, now } = query;
  const days = await source.days(range);
  const other = otherDays(query.comparison, range);
  const otherPoints = other && (await source.days(other));
  const isHourly =
    days.length === 1 &&
    [...days, ...(otherPoints ?? [])].every(hasFew) &&
    (await hasHours(pool, other && other.first < range.first ? other.first : range.first));
  const seriesOf = async (points: PointSums[], until: Date) => {
    const [day] = points;
    const sums = isHourly && day ? await source.hours(day, until) : points;
    return sums.map((point) => ({ at: point.at, ...toFigures(point) }));
  };
  return {
    interval: isHourly ? "hour" : "day",
    totals: toFigures(sum(days)),
    series: await seriesOf(days, now),
    ...(other &&
      otherPoints && {
        comparison: {
          from: other.first,
          to: other.last,
          ...(await readComparable(pool, source, { ...query, other, points: otherPoints })),
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
  source: Source,
  { range, now, other, points }: SourceQuery & { other: Days; points: readonly PointSums[] },
): Promise<{ totals: Figures; until?: string }> {
  const reached = toDay(now.getTime());
  const counterpart = points[(Date.parse(reached) - Date.parse(range.first)) / dayMs];
  const isPart = reached >= range.first && reached <= range.last && counterpart !== undefined;
  if (!isPart || !hasFew(counterpart) || !(await hasHours(pool, counterpart.at))) {
    return { totals: toFigures(sum(points)) };
  }
  const timeOfDay = now.getTime() % dayMs;
  const until = new Date(Date.parse(counterpart.at) + timeOfDay - (timeOfDay % minuteMs));
  const part = await source.until(counterpart, until);
  const before = points.filter(({ at }) => at < counterpart.at && at >= other.first);
  return { totals: toFigures(sum([...before, part])), until: until.toISOString() };
}

function hasFew({ pageviews, events }: Counts): boolean {
  return pageviews + events <= maxEventsForHours;
}

function endOf(day: string): Date {
  return new Date(Date.parse(day) + dayMs);
}

function sum(points: readonly Sums[]): Sums {
  const totals = noSums();
  for (const point of points) sumUp(totals, point);
  return totals;
}

function toFigures(sums: Sums): Figures {
  const { visitors, pageviews } = sums;
  return { visitors, pageviews, ...(toMetrics(metricNames, sums) as Record<Metric, number>) };
}
