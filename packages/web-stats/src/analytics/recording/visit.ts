import { type ListColumn, visitLists } from "../../lists/lists.js";
import type { SiteEvent } from "./site-event.js";

/** Microseconds without an event after which the next one begins another visit. */
export const visitGapUs = 30 * 60 * 1_000_000;

/** The columns that a visit takes from its beginning. */
export const originColumns: readonly ListColumn[] = [...new Set(visitLists.map(({ column }) => column))];

type Origin = Readonly<Partial<Record<ListColumn, string | null>>>;

/**
 * A visitor's run of page views and custom events on one site and UTC day, with less than 30 minutes between one and the next.
 * Moments are microseconds since the beginning of the day; events at one moment are in the order of their ids.
 */
export interface Visit {
  readonly firstUs: number;
  readonly lastUs: number;
  /** Its last moment with its engagement. */
  readonly endUs: number;
  /** The first page view, or the first event where there is none. */
  readonly entryUs: number;
  readonly entryId: string;
  /** Null without page views. */
  readonly entryPath: string | null;
  readonly exitUs: number | null;
  readonly exitId: string | null;
  readonly exitPath: string | null;
  readonly views: number;
  readonly events: number;
  /** Its custom events that are no interaction. */
  readonly passive: number;
  /** The values of `originColumns` as at the entry. */
  readonly origin: Origin;
  /** Hashes of the values that it counts for in lists by view. */
  readonly viewed: readonly string[];
}

type Changing<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** A new visit, or one that grows. Once `views` of the batch are counted, `viewed` has their hashes too. */
export interface OpenVisit extends Changing<Visit> {
  viewed: string[];
  readonly added: SiteEvent[];
}

export interface VisitorVisits {
  readonly visitor: string;
  readonly known: readonly Visit[];
  /** Those of them that the batch changes or joins. */
  readonly before: readonly Visit[];
  readonly after: readonly OpenVisit[];
}

/** Adds new events to the known visits of a day, by visitor. The result does not depend on their order. */
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
  return Array.from(fresh, ([visitor, own]) => {
    const rows = known.get(visitor) ?? noVisits;
    if (!own.some(isEngagement) && !rows.some(isWaiting)) return mergeVisitor(visitor, rows, own);
    const visits = rows.filter((row) => !isWaiting(row));
    const merged = mergeVisitor(
      visitor,
      visits,
      own.filter((event) => !isEngagement(event)),
    );
    return { ...holdEngagement(merged, rows.filter(isWaiting), own.filter(isEngagement)), known: rows };
  });
}

const noVisits: readonly Visit[] = [];

function isEngagement({ type }: SiteEvent): boolean {
  return type === "engagement";
}

/** Whether a row is a moment of engagement that no visit holds. */
export function isWaiting({ views, events }: Visit): boolean {
  return views + events === 0;
}

function mergeVisitor(visitor: string, known: readonly Visit[], fresh: SiteEvent[]): VisitorVisits {
  const visits = known.length > 1 ? [...known].sort((a, b) => a.firstUs - b.firstUs) : known;
  if (fresh.length > 1) fresh.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const before: Visit[] = [];
  const after: OpenVisit[] = [];
  let last: Visit | OpenVisit | undefined;
  const reopen = (visit: Visit | OpenVisit): OpenVisit => {
    if ("added" in visit) return visit;
    before.push(visit);
    const open = openAgain(visit);
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

/** Moments of engagement that wait for a visit, per visitor and day: the first ones stay. */
export const maxWaiting = 100;

/**
 * Extends visits by engagement less than 30 minutes after their last page view or custom event. Visits only grow, so one keeps
 * what it holds; a moment that none holds waits as a row of its own, for a visit that comes later.
 */
function holdEngagement(
  { visitor, known, ...merged }: VisitorVisits,
  waiting: readonly Visit[],
  engagement: readonly SiteEvent[],
): VisitorVisits {
  const [before, after] = [[...merged.before], [...merged.after]];
  const visits: (Visit | OpenVisit)[] = [...known.filter((visit) => !before.includes(visit)), ...after];
  const isHeld = (us: number): boolean => {
    const index = visits.findIndex(({ firstUs, lastUs }) => firstUs <= us && us - lastUs < visitGapUs);
    const visit = visits[index];
    if (!visit) return false;
    if (us <= visit.endUs) return true;
    const open = "added" in visit ? visit : openAgain(visit);
    if (open !== visit) {
      before.push(visit);
      after.push(open);
      visits[index] = open;
    }
    open.endUs = us;
    return true;
  };
  const loose = new Map<number, Visit | OpenVisit>();
  for (const moment of waiting) {
    if (isHeld(moment.firstUs)) before.push(moment);
    else loose.set(moment.firstUs, moment);
  }
  for (const event of engagement) {
    const us = microsOf(event.at);
    if (!loose.has(us) && !isHeld(us)) loose.set(us, waitAt(us));
  }
  const inOrder = [...loose.values()].sort((a, b) => a.firstUs - b.firstUs);
  for (const [index, moment] of inOrder.entries()) {
    const isKept = index < maxWaiting;
    if ("added" in moment && isKept) after.push(moment);
    else if (!("added" in moment) && !isKept) before.push(moment);
  }
  return { visitor, known, before, after };
}

function openAgain(visit: Visit): OpenVisit {
  return { ...visit, viewed: [...visit.viewed], added: [] };
}

/** In place of an entry. */
export const noId = "00000000-0000-0000-0000-000000000000";

function waitAt(us: number): OpenVisit {
  const times = { firstUs: us, lastUs: us, endUs: us, entryUs: us, exitUs: null };
  const counts = { views: 0, events: 0, passive: 0 };
  const origin = { channel: "Direct" };
  return {
    ...times,
    ...counts,
    entryId: noId,
    entryPath: null,
    exitId: null,
    exitPath: null,
    origin,
    viewed: [],
    added: [],
  };
}

function openVisit(event: SiteEvent, us: number): OpenVisit {
  const isView = event.type === "pageview";
  const path = isView ? event.path : null;
  return {
    firstUs: us,
    lastUs: us,
    endUs: us,
    entryUs: us,
    entryId: event.id,
    entryPath: path,
    exitUs: isView ? us : null,
    exitId: isView ? event.id : null,
    exitPath: path,
    views: isView ? 1 : 0,
    events: isView ? 0 : 1,
    passive: isPassive(event) ? 1 : 0,
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
  visit.endUs = Math.max(visit.endUs, us);
  if (isView) {
    visit.views++;
    visit.added.push(event);
  } else visit.events++;
  if (isPassive(event)) visit.passive++;
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
  visit.endUs = Math.max(visit.endUs, other.endUs);
  visit.passive += other.passive;
  visit.views += other.views;
  visit.events += other.events;
  visit.viewed = [...new Set([...visit.viewed, ...other.viewed])];
}

function isPassive({ type, isInteractive }: SiteEvent): boolean {
  return type === "event" && !isInteractive;
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
