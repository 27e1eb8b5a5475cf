import { type Metric, toMetrics } from "./metrics.js";
import { type Days, listDays } from "./range.js";
import { type FigureRow, noSums, type Sums, sumUp } from "./statistics.query.js";

export const intervals = ["hour", "day", "week", "month"] as const;

/** The length of a point of a series. Weeks begin on Monday. */
export type Interval = (typeof intervals)[number];

/** Hours are answered for as many days at most. */
export const maxDaysByHour = 14;

/** A point's name under its interval, and its figures. */
export type SeriesPoint = Partial<Record<Interval, string>> & { visitors: number; pageviews: number } & Partial<
    Record<Metric, number>
  >;

const hours = Array.from({ length: 24 }, (_, hour) => `T${String(hour).padStart(2, "0")}`);

/** The points that a day belongs to, in order. A week's and a month's point has the days of the range alone. */
const pointsOf: Readonly<Record<Interval, (day: string) => readonly string[]>> = {
  hour: (day) => hours.map((hour) => `${day}${hour}:00:00Z`),
  day: (day) => [day],
  week: (day) => [mondayOf(day)],
  month: (day) => [day.slice(0, 7)],
};

function mondayOf(day: string): string {
  const date = new Date(day);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}

/** Every point of the days in order, zeros included. */
export function toSeries(
  interval: Interval,
  days: Days,
  rows: readonly FigureRow[],
  metrics: readonly Metric[],
): SeriesPoint[] {
  const points = new Map(listDays(days).flatMap((day) => pointsOf[interval](day).map((point) => [point, noSums()])));
  const dimension = interval === "hour" ? "hour" : "total";
  for (const row of rows) {
    const day = row.value.slice(0, 10);
    if (row.dimension !== dimension || day < days.first || day > days.last) continue;
    const names = interval === "hour" ? [`${row.value}:00:00Z`] : pointsOf[interval](day);
    for (const name of names) sumUp(points.get(name), row);
  }
  return Array.from(points, ([name, sums]) => toPoint(interval, name, sums, metrics));
}

function toPoint(interval: Interval, name: string, sums: Sums, metrics: readonly Metric[]): SeriesPoint {
  const { visitors, pageviews } = sums;
  return { [interval]: name, visitors, pageviews, ...toMetrics(metrics, sums) };
}
