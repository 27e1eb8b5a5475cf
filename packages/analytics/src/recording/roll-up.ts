import { viewLists } from "@waymark/lists";
import { hash64 } from "../visitors/hash64.js";
import { rolledValue } from "./day-bounds.js";
import type { CountedAs } from "./list-overflow.js";
import type { SiteEvent } from "./site-event.js";

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

/** A batch's additions to a row of `daily_stat`. */
interface StatChange {
  visitors: number;
  pageviews: number;
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
  /** By visitor. */
  readonly visitors: ReadonlyMap<string, VisitorChange>;
  /** Occurrences by custom event's name, property (empty for the event itself) and value. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>;
}

/**
 * Works out the changes of new events in the rollups of one site and day. Only page views count visitors, each once per day and
 * value.
 * @param events of that site and day, none recorded before
 * @param known the day's visitors among them
 */
export function rollUp(
  { siteId, day }: { siteId: string; day: string },
  events: readonly SiteEvent[],
  known: ReadonlyMap<string, KnownVisitor>,
  countedAs: CountedAs = (_dimension, value) => value,
): DayChange {
  const stats = new StatTable(countedAs);
  const visitors = new Map<string, OpenVisitor>();
  const occurrences = new Map<string, Map<string, Map<string, number>>>();
  for (const event of events) {
    if (event.type === "event") {
      countOccurrence(occurrences, event);
      continue;
    }
    const visitor = event.visitor === null ? undefined : visitOf(visitors, known, event, stats);
    const total = stats.row("total", "");
    total.pageviews++;
    if (visitor?.isFresh) {
      visitor.isFresh = false;
      if (visitor.isNew) total.visitors++;
    }
    for (const { dimension, column } of viewLists) {
      const value = event[column];
      if (value !== null) countValue(stats.row(dimension, value), visitor);
    }
  }
  for (const [key, visitor] of visitors) countEntry(stats, known.get(key)?.entry, visitor);
  return { siteId, day, stats: stats.tables, visitors, events: occurrences };
}

/**
 * 64 bits of SHA-256 over dimension and value, like the database function `seen_hash`. Two values of one visitor's day collide
 * once in 10^15 days with a hundred values each.
 */
function seenHash(dimension: string, value: string): string {
  return hash64(`${dimension}\n${value}`);
}

interface OpenStat extends StatChange {
  readonly hash: string;
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

class StatTable {
  readonly tables = new Map<string, Map<string, OpenStat>>();

  constructor(readonly countedAs: CountedAs) {}

  row(dimension: string, value: string): OpenStat {
    return this.at(dimension, this.countedAs(dimension, value));
  }

  /** The row of a value that may be `(other)` already. */
  at(dimension: string, value: string): OpenStat {
    const table = obtain(this.tables, dimension, () => new Map<string, OpenStat>());
    return obtain(table, value, () => ({ visitors: 0, pageviews: 0, hash: seenHash(dimension, value) }));
  }
}

function countValue(row: OpenStat, visitor: OpenVisitor | undefined): void {
  row.pageviews++;
  if (!visitor || visitor.seen.has(row.hash)) return;
  visitor.seen.add(row.hash);
  visitor.newlySeen.push(row.hash);
  row.visitors++;
}

/** The visitor of a page view, with its entry updated. */
function visitOf(
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
