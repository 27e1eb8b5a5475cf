import { type ListColumn, visitLists } from "@waymark/lists";
import type { SiteEvent } from "./site-event.js";

/** Microseconds without an event after which the next one begins another visit. */
export const visitGapUs = 30 * 60 * 1_000_000;

/** The columns that a visit takes from its beginning. */
export const originColumns: readonly ListColumn[] = visitLists.map(({ column }) => column);

type Origin = Readonly<Partial<Record<ListColumn, string | null>>>;

/**
 * A visitor's run of page views and custom events on one site and UTC day, with less than 30 minutes between one and the next.
 * Moments are microseconds since the beginning of the day; events at one moment are in the order of their ids.
 */
export interface Visit {
  readonly firstUs: number;
  readonly lastUs: number;
  /** The first page view, or the first event where there is none. */
  readonly entryUs: number;
  readonly entryId: string;
  /** Null without page views. */
  readonly entryPath: string | null;
  /** The last page view. */
  readonly exitUs: number | null;
  readonly exitId: string | null;
  readonly exitPath: string | null;
  readonly views: number;
  readonly events: number;
  /** The values of `originColumns` as at the entry. */
  readonly origin: Origin;
  /** Hashes of the values that it counts for in lists by view. */
  readonly viewed: readonly string[];
}

type Changing<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** A new visit, or one that grows. Once `views` of the batch are counted, `viewed` has their hashes too. */
export interface OpenVisit extends Changing<Visit> {
  viewed: string[];
  /** The batch's page views. */
  readonly added: SiteEvent[];
}

/** What a batch makes of a visitor's visits of a day. */
export interface VisitorVisits {
  readonly visitor: string;
  /** All visits before the batch. */
  readonly known: readonly Visit[];
  /** Those of them that the batch changes or joins. */
  readonly before: readonly Visit[];
  /** New and changed visits. */
  readonly after: readonly OpenVisit[];
}

/**
 * Adds new events to the known visits of a day. The result does not depend on their order.
 * @param known by visitor
 */
export function mergeVisits(
  events: readonly SiteEvent[],
  known: ReadonlyMap<string, readonly Visit[]>,
): VisitorVisits[] {
  const fresh = new Map<string, SiteEvent[]>();
  for (const event of events) {
    if (event.visitor === null) continue;
    const own = fresh.get(event.visitor);
    if (own) own.push(event);
    else fresh.set(event.visitor, [event]);
  }
  return Array.from(fresh, ([visitor, own]) => mergeVisitor(visitor, known.get(visitor) ?? noVisits, own));
}

const noVisits: readonly Visit[] = [];

function mergeVisitor(visitor: string, known: readonly Visit[], fresh: SiteEvent[]): VisitorVisits {
  const visits = known.length > 1 ? [...known].sort((a, b) => a.firstUs - b.firstUs) : known;
  if (fresh.length > 1) fresh.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const before: Visit[] = [];
  const after: OpenVisit[] = [];
  let last: Visit | OpenVisit | undefined;
  const reopen = (visit: Visit | OpenVisit): OpenVisit => {
    if ("added" in visit) return visit;
    before.push(visit);
    const open = { ...visit, viewed: [...visit.viewed], added: [] };
    after.push(open);
    return open;
  };
  let next = 0;
  const addVisits = (untilUs: number) => {
    for (let visit = visits[next]; visit && visit.firstUs <= untilUs; visit = visits[++next]) {
      if (last && visit.firstUs - last.lastUs < visitGapUs) {
        const open = reopen(last);
        before.push(visit);
        addVisit(open, visit);
        last = open;
      } else last = visit;
    }
  };
  for (const event of fresh) {
    const us = microsOf(event.at);
    addVisits(us);
    if (last && us - last.lastUs < visitGapUs) {
      const open = reopen(last);
      addEvent(open, event, us);
      last = open;
    } else {
      const open = openVisit(event, us);
      after.push(open);
      last = open;
    }
  }
  addVisits(Number.POSITIVE_INFINITY);
  return { visitor, known, before, after };
}

function openVisit(event: SiteEvent, us: number): OpenVisit {
  const isView = event.type === "pageview";
  const path = isView ? event.path : null;
  return {
    firstUs: us,
    lastUs: us,
    entryUs: us,
    entryId: event.id,
    entryPath: path,
    exitUs: isView ? us : null,
    exitId: isView ? event.id : null,
    exitPath: path,
    views: isView ? 1 : 0,
    events: isView ? 0 : 1,
    origin: event,
    viewed: [],
    added: isView ? [event] : [],
  };
}

function addEvent(visit: OpenVisit, event: SiteEvent, us: number): void {
  const { id, path } = event;
  const isView = event.type === "pageview";
  if (isFirst(visit, isView, us, id)) {
    visit.entryUs = us;
    visit.entryId = id;
    visit.entryPath = isView ? path : null;
    visit.origin = event;
  }
  if (isView && isLast(visit, us, id)) {
    visit.exitUs = us;
    visit.exitId = id;
    visit.exitPath = path;
  }
  visit.firstUs = Math.min(visit.firstUs, us);
  visit.lastUs = Math.max(visit.lastUs, us);
  if (isView) {
    visit.views++;
    visit.added.push(event);
  } else visit.events++;
}

function addVisit(visit: OpenVisit, other: Visit): void {
  const { entryUs, entryId, entryPath, exitUs, exitId, exitPath } = other;
  if (isFirst(visit, other.views > 0, entryUs, entryId)) {
    Object.assign(visit, { entryUs, entryId, entryPath, origin: other.origin });
  }
  if (exitUs !== null && exitId !== null && isLast(visit, exitUs, exitId)) {
    Object.assign(visit, { exitUs, exitId, exitPath });
  }
  visit.firstUs = Math.min(visit.firstUs, other.firstUs);
  visit.lastUs = Math.max(visit.lastUs, other.lastUs);
  visit.views += other.views;
  visit.events += other.events;
  visit.viewed = [...new Set([...visit.viewed, ...other.viewed])];
}

/** A page view is an entry before any custom event. */
function isFirst({ views, entryUs, entryId }: Visit, isView: boolean, us: number, id: string): boolean {
  if (isView !== views > 0) return isView;
  return us < entryUs || (us === entryUs && id < entryId);
}

function isLast({ exitUs, exitId }: Visit, us: number, id: string): boolean {
  return exitUs === null || exitId === null || us > exitUs || (us === exitUs && id > exitId);
}

/** The microseconds since midnight of `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
export function microsOf(at: string): number {
  const seconds = (digits(at, 11) * 60 + digits(at, 14)) * 60 + digits(at, 17);
  return seconds * 1_000_000 + digits(at, 20) * 10_000 + digits(at, 22) * 100 + digits(at, 24);
}

/** Two digits as a number, without the text that `slice` would make. */
function digits(text: string, from: number): number {
  return text.charCodeAt(from) * 10 + text.charCodeAt(from + 1) - 528;
}
