import type { Kind } from "./kinds.js";
import type { Node, Tree } from "./tree.js";

/** Milliseconds since the trace's start. */
export interface Stretch {
  from: number;
  to: number;
}

/** A span's time, up to `traceEnd` where its own end is missing. */
export function stretchOf({ span }: Node, traceEnd: number): Stretch {
  return { from: span.start, to: Math.max(span.start, span.end ?? traceEnd) };
}

/** The time of spans without that of their children, added up by kind: spans at the same time count each. */
export function ownTimeByKind({ nodes }: Tree, traceEnd: number): Map<Kind, number> {
  const times = new Map<Kind, number>();
  for (const node of nodes) {
    const { from, to } = stretchOf(node, traceEnd);
    let own = to - from;
    let covered = from;
    for (const child of node.children) {
      const part = stretchOf(child, traceEnd);
      const end = Math.min(part.to, to);
      const start = Math.max(part.from, covered);
      if (end <= start) continue;
      own -= end - start;
      covered = end;
    }
    times.set(node.span.kind, (times.get(node.span.kind) ?? 0) + own);
  }
  return times;
}

const minIdleShare = 0.04;
const minIdleMs = 2_000;

const working: readonly Kind[] = ["model", "tool", "retrieval"];

/** Long stretches in which nothing worked: no model, no tool, no search, and no span without children. */
export function idleStretches({ nodes }: Tree, { from, to }: Stretch): Stretch[] {
  const works = nodes
    .filter(({ span, children }) => children.length === 0 || working.includes(span.kind))
    .map((node) => stretchOf(node, to))
    .sort((a, b) => a.from - b.from);
  const least = Math.max(minIdleMs, (to - from) * minIdleShare);
  const idle: Stretch[] = [];
  let worked = from;
  const add = (until: number) => {
    if (until - worked > least) idle.push({ from: worked, to: until });
  };
  if (works.length === 0) return idle;
  for (const work of works) {
    add(work.from);
    worked = Math.max(worked, work.to);
  }
  add(to);
  return idle;
}

export interface Scale {
  readonly range: Stretch;
  readonly folded: readonly Stretch[];
  /** From 0 to 1 within the range; outside it is below 0 or above 1. */
  at(time: number): number;
  timeAt(place: number): number;
}

/** A folded stretch is this part of the unfolded time wide, at most. */
const foldedShare = 0.025;

/** A scale of a range; it shrinks the stretches to fold. */
export function createScale(range: Stretch, fold: readonly Stretch[] = []): Scale {
  const folded = fold
    .map(({ from, to }) => ({ from: Math.max(from, range.from), to: Math.min(to, range.to) }))
    .filter(({ from, to }) => to > from);
  const unfolded = range.to - range.from - folded.reduce((sum, { from, to }) => sum + to - from, 0);
  const pieces: (Stretch & { start: number; width: number })[] = [];
  let width = 0;
  let time = range.from;
  const add = (to: number, isFolded: boolean) => {
    if (to <= time) return;
    const length = isFolded ? Math.min(to - time, Math.max(unfolded, 1e-3) * foldedShare) : to - time;
    pieces.push({ from: time, to, start: width, width: length });
    width += length;
    time = to;
  };
  for (const { from, to } of folded) {
    add(from, false);
    add(to, true);
  }
  add(range.to, false);
  const total = width || 1;
  const first = pieces[0] ?? { ...range, start: 0, width: 1 };
  return {
    range,
    folded,
    at(at) {
      if (at < range.from) return (at - range.from) / total;
      const piece = pieces.find(({ to }) => at <= to);
      if (!piece) return 1 + (at - range.to) / total;
      return (piece.start + ((at - piece.from) / (piece.to - piece.from)) * piece.width) / total;
    },
    timeAt(place) {
      const at = Math.min(1, Math.max(0, place)) * total;
      const piece = pieces.find(({ start, width: own }) => at <= start + own) ?? pieces.at(-1) ?? first;
      return piece.from + (Math.min(piece.width, at - piece.start) / piece.width) * (piece.to - piece.from);
    },
  };
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const largeSteps = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12, 24].map((n) => n * hour),
];

function stepOf(least: number): number {
  if (least > second) {
    const step = largeSteps.find((each) => each >= least);
    return step ?? Math.ceil(least / (24 * hour)) * 24 * hour;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-3)));
  return ([1, 2, 5].find((n) => n * power >= least) ?? 10) * power;
}

/** Round times with their places: as many as have `minPixels` each. */
export function ticksOf(scale: Scale, pixels: number, minPixels = 84): { time: number; place: number }[] {
  const { range, folded } = scale;
  const worked = range.to - range.from - folded.reduce((sum, { from, to }) => sum + to - from, 0);
  const count = Math.max(1, Math.floor(pixels / minPixels));
  const step = stepOf(Math.max(worked, (range.to - range.from) / 1_000) / count);
  const ticks: { time: number; place: number }[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (let n = Math.ceil(range.from / step - 1e-9); n * step <= range.to && ticks.length < 100; n++) {
    const fold = folded.find(({ from, to }) => n * step > from && n * step < to);
    if (fold) {
      n = Math.max(n, Math.floor(fold.to / step));
      continue;
    }
    const place = scale.at(n * step);
    if ((place - last) * pixels < minPixels * 0.9 || (1 - place) * pixels < minPixels / 3) continue;
    ticks.push({ time: n * step + 0, place });
    last = place;
  }
  return ticks;
}
