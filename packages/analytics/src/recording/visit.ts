import { type ListColumn, visitLists } from "@waymark/lists";
import type { SiteEvent } from "./site-event.js";

/** Microseconds without an event after which the next one begins another visit. */
export const visitGapUs = 30 * 60 * 1_000_000;

/** The columns that a visit takes from its beginning. */
export const originColumns: readonly ListColumn[] = visitLists.map(({ column }) => column);

type Origin = Readonly<Partial<Record<ListColumn, string | null>>>;

/** An event's place in the order of a day: by time, then by id. */
interface Moment {
  /** Microseconds since the beginning of the UTC day. */
  readonly us: number;
  readonly id: string;
}

/**
 * A visitor's run of page views and custom events on one site and UTC day, with less than 30 minutes between one and the next.
 * The result of joining two does not depend on their order.
 */
export interface Visit {
  readonly firstUs: number;
  readonly lastUs: number;
  /** The first page view, or the first event where there is none. */
  readonly entry: Moment;
  /** Null without page views. */
  readonly entryPath: string | null;
  /** The last page view. */
  readonly exit: Moment | null;
  readonly exitPath: string | null;
  readonly views: number;
  readonly events: number;
  /** The values of `originColumns` as at the entry. */
  readonly origin: Origin;
  /** Hashes of the values that it counts for in lists by view, without those of `added`. */
  readonly viewed: readonly string[];
  /** Page views that are not yet in `viewed`. */
  readonly added: readonly SiteEvent[];
}

/** What a batch makes of a visitor's visits of a day. */
export interface VisitorVisits {
  readonly visitor: string;
  /** All visits before the batch. */
  readonly known: readonly Visit[];
  /** Those of them that the batch changes or joins. */
  readonly before: readonly Visit[];
  /** New and changed visits. */
  readonly after: readonly Visit[];
}

/**
 * Adds new events to the known visits of a day.
 * @param known by visitor
 */
export function mergeVisits(
  events: readonly SiteEvent[],
  known: ReadonlyMap<string, readonly Visit[]>,
): VisitorVisits[] {
  const fresh = new Map<string, Visit[]>();
  for (const event of events) {
    if (event.visitor === null) continue;
    const visits = fresh.get(event.visitor);
    if (visits) visits.push(visitOf(event));
    else fresh.set(event.visitor, [visitOf(event)]);
  }
  return Array.from(fresh, ([visitor, added]) => mergeVisitor(visitor, known.get(visitor) ?? [], added));
}

function mergeVisitor(visitor: string, known: readonly Visit[], fresh: readonly Visit[]): VisitorVisits {
  const ordered = [...known, ...fresh].sort((a, b) => a.firstUs - b.firstUs);
  const merged: Visit[] = [];
  let last: Visit | undefined;
  for (const visit of ordered) {
    if (last && visit.firstUs - last.lastUs < visitGapUs) {
      last = join(last, visit);
      merged[merged.length - 1] = last;
    } else {
      last = visit;
      merged.push(visit);
    }
  }
  // An unchanged visit is still the same object.
  const unchanged = new Set(merged);
  const before = known.filter((visit) => !unchanged.has(visit));
  const stored = new Set(known);
  return { visitor, known, before, after: merged.filter((visit) => !stored.has(visit)) };
}

function visitOf(event: SiteEvent): Visit {
  const moment = { us: microsOf(event.at), id: event.id };
  const isView = event.type === "pageview";
  const path = isView ? event.path : null;
  return {
    firstUs: moment.us,
    lastUs: moment.us,
    entry: moment,
    entryPath: path,
    exit: isView ? moment : null,
    exitPath: path,
    views: isView ? 1 : 0,
    events: isView ? 0 : 1,
    origin: event,
    viewed: [],
    added: isView ? [event] : [],
  };
}

function join(a: Visit, b: Visit): Visit {
  // A page view is an entry before any custom event.
  const isAFirst = a.views > 0 === b.views > 0 ? isBefore(a.entry, b.entry) : a.views > 0;
  const { entry, entryPath, origin } = isAFirst ? a : b;
  const { exit, exitPath } = b.exit === null || (a.exit !== null && isBefore(b.exit, a.exit)) ? a : b;
  return {
    firstUs: Math.min(a.firstUs, b.firstUs),
    lastUs: Math.max(a.lastUs, b.lastUs),
    entry,
    entryPath,
    exit,
    exitPath,
    views: a.views + b.views,
    events: a.events + b.events,
    origin,
    viewed: joinLists(a.viewed, b.viewed),
    added: joinLists(a.added, b.added),
  };
}

function joinLists<Element>(a: readonly Element[], b: readonly Element[]): readonly Element[] {
  if (a.length === 0) return b;
  return b.length === 0 ? a : [...a, ...b];
}

function isBefore(a: Moment, b: Moment): boolean {
  return a.us < b.us || (a.us === b.us && a.id < b.id);
}

/** The microseconds since midnight of `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
export function microsOf(at: string): number {
  const seconds = Number(at.slice(11, 13)) * 3_600 + Number(at.slice(14, 16)) * 60 + Number(at.slice(17, 19));
  return seconds * 1_000_000 + Number(at.slice(20, 26));
}
