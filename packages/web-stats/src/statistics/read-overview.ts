import type pg from "pg";
import { type Comparison, counterpartOf, otherDays } from "./comparison.js";
import { type Counts, createKeptDays, type DayPoint, type PointSums, readDays } from "./days.query.js";
import { matchVisits, needsOf } from "./filters/filter.js";
import { addTotalsBefore, readFilteredFigures } from "./filters/read-filtered.js";
import { type Metric, metricNames, toMetrics } from "./metrics.js";
import { type Days, dayMs, listDays, listHours } from "./range.js";
import type { Filtering } from "./read-statistics.js";
import { noSums, readCoverage, readHourFigures, type Sums, sumUp } from "./statistics.query.js";

function openFilteredSource({ columns, filters }: Filtering, siteId: string) {
  async function readPoints(days: Days, names: readonly string[], withHours: boolean): Promise<DayPoint[]> {
    const asked = { siteId, filters, ...days, totalsFrom: days.first, withHours };
    const rows = await readFilteredFigures(columns, { ...asked, lists: [], limit: 0, withVisits: false });
    const dimension = withHours ? "hour" : "total";
    const points = new Map(names.map((at) => [at, noSums()]));
    for (const row of rows) if (row.dimension === dimension) sumUp(points.get(row.value), row);
    return Array.from(points, ([at, sums]) => ({ at, ...sums, version: "" }));
  }

  return {
    days: (days: Days) => readPoints(days, listDays(days), false),
    hours: ({ at }: PointSums, until: Date) => readPoints({ first: at, last: at }, listHours(at, until), true),
    async until({ at: day }: PointSums, until: Date): Promise<Sums> {
      const sums = noSums();
      const before = until.getTime() - Date.parse(day);
      const needs = { ...needsOf(filters), times: true };
      await columns.read({ siteId, days: { first: day, last: day }, needs }, async ({ part }) => {
        addTotalsBefore(sums, part, await matchVisits(part, filters, columns.work), before);
      });
      return sums;
    },
  };
}

export type Figures = Counts & Record<Metric, number>;

/** The figures of a day (`2026-03-15`) or an hour (`2026-03-15T04`), in UTC. A visit counts in the hour that it begins in. */
type Point = Figures & { at: string };

export interface Overview {
  /** Hours for a single day that has them, else days. */
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

/** Above this a day counts whole: reading a part of it would take a processor more than half a second. */
const maxEventsInPart = 500_000;

interface Source {
  days(days: Days): Promise<DayPoint[]>;
  hours(day: DayPoint, until: Date): Promise<PointSums[]>;
  /** The figures of a day before a whole minute of it. */
  until(day: DayPoint, until: Date): Promise<Sums>;
  /** Whether days have figures by hour, or all their events. */
  has(need: "hours" | "events", days: Days): Promise<boolean>;
}

/** One statement at a time. Under filters nothing is compared with days that lack events. */
export function createOverviewReader(pool: pg.Pool): (query: OverviewQuery) => Promise<Overview> {
  const keptDays = createKeptDays(pool);
  return async ({ siteId, filtering, ...query }) => {
    const has = async (need: "hours" | "events", days: Days) =>
      (await readCoverage(pool, { siteId, ...days, need })) === undefined;
    if (filtering) {
      const other = otherDays(query.comparison, query.range);
      const comparison = other && (await has("events", other)) ? query.comparison : "off";
      const source: Source = {
        ...openFilteredSource(filtering, siteId),
        has: (_need, days) => has("events", days),
      };
      return readOverview(source, { ...query, comparison });
    }
    const source: Source = {
      days: (days) => readDays(pool, { siteId, ...days }),
      hours: ({ at }, until) => readHours(pool, siteId, listHours(at, until)),
      until: (day, until) => keptDays.until(siteId, day, until),
      has,
    };
    return readOverview(source, query);
  };
}

/** The hours of a UTC day as the rollups have them; hours without events have zeros. */
async function readHours(pool: pg.Pool, siteId: string, hours: readonly string[]): Promise<PointSums[]> {
  const day = hours[0]?.slice(0, 10) ?? "";
  const rows = await readHourFigures(pool, { siteId, first: day, last: day });
  const stored = new Map(rows.map(({ dimension: _hour, value, ...sums }) => [value, sums]));
  return hours.map((at) => ({ at, ...(stored.get(at) ?? noSums()) }));
}

type SourceQuery = Omit<OverviewQuery, "siteId" | "filtering">;

async function readOverview(source: Source, query: SourceQuery): Promise<Overview> {
  const { range, now } = query;
  const days = await source.days(range);
  const other = otherDays(query.comparison, range);
  const otherPoints = other && (await source.days(other));
  const isHourly =
    days.length === 1 && (await source.has("hours", range)) && (!other || (await source.has("hours", other)));
  const seriesOf = async (points: DayPoint[], until: Date) => {
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
          ...(await readComparable(source, { ...query, other, points: otherPoints })),
          series: await seriesOf(otherPoints, endOf(other.first)),
        },
      }),
  };
}

/** Sums the other days up to the time of the day that the range has come to. */
async function readComparable(
  source: Source,
  { range, now, other, points }: SourceQuery & { other: Days; points: readonly DayPoint[] },
): Promise<{ totals: Figures; until?: string }> {
  const reached = counterpartOf(range, other, now);
  const counterpart = points.find(({ at }) => at === reached?.day);
  const hasPart =
    reached &&
    counterpart &&
    hasFew(counterpart) &&
    (await source.has("events", { first: counterpart.at, last: counterpart.at }));
  if (!hasPart) return { totals: toFigures(sum(points)) };
  const { until } = reached;
  const part = await source.until(counterpart, until);
  const before = points.filter(({ at }) => at < counterpart.at && at >= other.first);
  return { totals: toFigures(sum([...before, part])), until: until.toISOString() };
}

function hasFew({ pageviews, events }: Counts): boolean {
  return pageviews + events <= maxEventsInPart;
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
