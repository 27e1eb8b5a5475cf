import { viewLists } from "../../lists/lists.js";
import { countVisits, hourOf, type VisitChange } from "./count-visits.js";
import { rolledValue } from "./day-bounds.js";
import type { CountedAs } from "./list-overflow.js";
import type { SiteEvent } from "./site-event.js";
import { type OpenStat, type StatChange, StatTable } from "./stat-table.js";
import { microsOf, type VisitorVisits } from "./visit.js";

/** A visitor of a day before a batch. */
export interface KnownVisitor {
  /** Hashes of the values it was counted for, by `seenHash`. */
  readonly seen: readonly string[];
  readonly entry: Entry;
}

/** The page of a visitor's first view of a day, by time and then by id. */
interface Entry {
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly id: string;
  /** Its value in the list, possibly `(other)`. */
  readonly path: string;
}

/** A batch's changes in a row of `daily_visitor`. */
interface VisitorChange {
  readonly isNew: boolean;
  readonly newlySeen: readonly string[];
  readonly entry: Entry;
  /** The visitor has another entry than before. */
  readonly isEntryNew: boolean;
}

/** A batch's changes for a site on a UTC day. */
export interface DayChange {
  readonly siteId: string;
  readonly day: string;
  /** By dimension, then by value. */
  readonly stats: ReadonlyMap<string, ReadonlyMap<string, StatChange>>;
  /** By the hash of dimension and value, where the batch does not name them. */
  readonly unnamedStats: ReadonlyMap<string, StatChange>;
  /** By visitor. */
  readonly visitors: ReadonlyMap<string, VisitorChange>;
  readonly visits: readonly VisitChange[];
  /** Occurrences by custom event's name, property (empty for the event itself) and value. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>;
}

/**
 * Works out the changes of new events in the rollups of one site and day. Only page views count visitors, each once per day and
 * value.
 * @param events of that site and day, none recorded before
 * @param known the day's visitors among them
 * @param visits what `mergeVisits` made of the events
 */
export function rollUp(
  { siteId, day }: { siteId: string; day: string },
  events: readonly SiteEvent[],
  known: ReadonlyMap<string, KnownVisitor>,
  visits: readonly VisitorVisits[],
  countedAs: CountedAs = (_dimension, value) => value,
): DayChange {
  const stats = new StatTable(countedAs);
  const visitors = new Map<string, OpenVisitor>();
  const occurrences = new Map<string, Map<string, Map<string, number>>>();
  const total = stats.at("total", "");
  for (const event of events) {
    if (event.type === "engagement") {
      total.engagements++;
      continue;
    }
    const hour = stats.at("hour", hourOf(microsOf(event.at)));
    if (event.type === "event") {
      countOccurrence(occurrences, event);
      total.events++;
      hour.events++;
      continue;
    }
    const visitor = event.visitor === null ? undefined : visitorOf(visitors, known, event, stats);
    total.pageviews++;
    if (visitor?.isFresh) {
      visitor.isFresh = false;
      if (visitor.isNew) total.visitors++;
    }
    countValue(hour, visitor);
    for (const { dimension, column } of viewLists) {
      const value = event[column];
      if (value !== null) countValue(stats.row(dimension, value), visitor);
    }
  }
  for (const [key, visitor] of visitors) countEntry(stats, known.get(key)?.entry, visitor);
  const changes = countVisits(stats, visits);
  return {
    siteId,
    day,
    stats: stats.tables,
    unnamedStats: stats.unnamed,
    visitors,
    visits: changes,
    events: occurrences,
  };
}

interface OpenVisitor {
  readonly isNew: boolean;
  /** Not yet in this batch's total. */
  isFresh: boolean;
  readonly seen: Set<string>;
  readonly newlySeen: string[];
  entry: Entry;
  isEntryNew: boolean;
}

function countValue(row: OpenStat, visitor: OpenVisitor | undefined): void {
  row.pageviews++;
  if (!visitor || visitor.seen.has(row.hash)) return;
  visitor.seen.add(row.hash);
  visitor.newlySeen.push(row.hash);
  row.visitors++;
}

/** The visitor of a page view, with its entry updated. */
function visitorOf(
  visitors: Map<string, OpenVisitor>,
  known: ReadonlyMap<string, KnownVisitor>,
  event: SiteEvent,
  stats: StatTable,
): OpenVisitor {
  const key = event.visitor ?? "";
  const { at, id } = event;
  let visitor = visitors.get(key);
  if (!visitor) {
    const before = known.get(key);
    const entry = before?.entry ?? { at, id, path: stats.countedAs("entry", event.path ?? "") };
    visitor = { isNew: !before, isFresh: true, seen: new Set(before?.seen), newlySeen: [], entry, isEntryNew: false };
    visitors.set(key, visitor);
  }
  if (isBefore(event, visitor.entry)) visitor.entry = { at, id, path: stats.countedAs("entry", event.path ?? "") };
  return visitor;
}

function isBefore(a: { at: string; id: string }, b: { at: string; id: string }): boolean {
  return a.at < b.at || (a.at === b.at && a.id < b.id);
}

/** Moves a visitor from its former entry page to its present one. */
function countEntry(stats: StatTable, before: Entry | undefined, visitor: OpenVisitor): void {
  const { entry } = visitor;
  if (before?.id === entry.id) return;
  visitor.isEntryNew = true;
  if (before) stats.at("entry", before.path).visitors--;
  stats.at("entry", entry.path).visitors++;
}

function countOccurrence(occurrences: Map<string, Map<string, Map<string, number>>>, event: SiteEvent): void {
  const { name, props } = event;
  const properties = obtain(occurrences, name ?? "", () => new Map<string, Map<string, number>>());
  add(properties, "", "");
  for (const [property, value] of Object.entries(props ?? {})) add(properties, property, rolledValue(value));
}

function add(properties: Map<string, Map<string, number>>, property: string, value: string): void {
  const values = obtain(properties, property, () => new Map<string, number>());
  values.set(value, (values.get(value) ?? 0) + 1);
}

/** The value of a key, made if it is missing. */
function obtain<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = make();
  map.set(key, made);
  return made;
}
