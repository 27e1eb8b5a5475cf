import type { Figures, Overview } from "@waymark/web-stats/statistics";
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import type { FigureName } from "./address.js";

export interface Curve {
  /** Days (`2026-03-15`) or hours (`2026-03-15T04`) of the whole range, in order. */
  times: readonly string[];
  /** As many as have begun. */
  values: readonly number[];
  /** Whether the last value still grows. */
  isUnfinished: boolean;
  /** The values compared with, each beside the value of its index. */
  before: readonly number[] | undefined;
  beforeTimes: readonly string[];
  /** The axis reaches this value at least; 1 without it. */
  least?: number;
}

export function figureOf(figures: Figures, figure: FigureName): number {
  if (figure !== "ratio") return figures[figure];
  return figures.visitors === 0 ? 0 : figures.pageviews / figures.visitors;
}

/** Takes a figure out of an overview; times after `now` have no value. */
export function toCurve({ interval, series, comparison }: Overview, figure: FigureName, now: string): Curve {
  const present = now.slice(0, interval === "hour" ? 13 : 10);
  const begun = series.filter(({ at }) => at <= present);
  const times = series.map(({ at }) => at);
  return {
    times: interval === "hour" ? hoursOf(times[0] ?? present) : times,
    values: begun.map((point) => figureOf(point, figure)),
    isUnfinished: begun.at(-1)?.at === present,
    before: comparison?.series.map((point) => figureOf(point, figure)),
    beforeTimes: comparison?.series.map(({ at }) => at) ?? [],
  };
}

function hoursOf(first: string): string[] {
  return Array.from({ length: 24 }, (_, hour) => `${first.slice(0, 10)}T${String(hour).padStart(2, "0")}`);
}

const inset = { left: 44, right: 16, top: 12, bottom: 26 };

export function drawCurve(
  { times, values, before, isUnfinished, least = 1 }: Curve,
  { width, height }: { width: number; height: number },
) {
  const largest = max([...values, ...(before ?? []), least]) || 1;
  const slots = Math.max(1, times.length - 1);
  const x = scaleLinear([0, slots], [inset.left, Math.max(inset.left + 1, width - inset.right)]);
  const y = scaleLinear([0, largest], [height - inset.bottom, inset.top]).nice(4);
  const xOf = (_: number, index: number) => (times.length === 1 ? (x.range()[0] ?? 0) : x(index));
  const toLine = line<number>().x(xOf).y(y);
  const toArea = area<number>().x(xOf).y0(y(0)).y1(y);
  const solid = isUnfinished ? values.slice(0, -1) : values;
  const last = values.length - 1;
  return {
    x: (index: number) => xOf(0, index),
    y: (value: number) => y(value),
    line: toLine(solid) ?? "",
    area: toArea(solid) ?? "",
    // A stem of its own: a line down to it would look like a fall.
    unfinished: isUnfinished && last >= 0 ? `M${xOf(0, last)},${y(0)}V${y(values[last] ?? 0)}` : "",
    before: before ? (toLine(before.slice(0, times.length)) ?? "") : "",
    ticks: y.ticks(4).map((value) => ({ value, y: y(value) })),
    indexAt: (left: number) => Math.max(0, Math.min(times.length - 1, Math.round(x.invert(left)))),
  };
}

/** The indexes of times to label: as many as fit, the last one among them. */
export function labelledTimes(count: number, width: number, labelWidth = 76): number[] {
  const step = Math.max(1, Math.ceil((count * labelWidth) / Math.max(labelWidth, width - inset.left - inset.right)));
  const indexes: number[] = [];
  for (let index = count - 1; index >= 0; index -= step) indexes.unshift(index);
  return indexes;
}
