import { viewLists } from "@waymark/lists";
import { hash64 } from "../visitors/hash64.js";
import { rolledValue } from "./day-bounds.js";
import type { CountedAs } from "./list-overflow.js";
import type { SiteEvent } from "./site-event.js";

/** What is known of a visitor of a day before a batch. */
export interface KnownVisitor {
  /** Hashes of what it was counted for, as `seenHash` makes them. */
  readonly seen: readonly string[];
  readonly entry: Entry;
}

/** The page that a visitor came in by on a day: its first, by time and then by id. */
export interface Entry {
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly id: string;
  /** As it is counted. */
  readonly path: string;
}

/** What a batch adds to a row of `daily_stat`. */
export interface StatChange {
  visitors: number;
  pageviews: number;
}

/** What a batch changes in a row of `daily_visitor`. */
export interface VisitorChange {
  readonly isNew: boolean;
  readonly newlySeen: readonly string[];
  readonly entry: Entry;
  /** The visitor came in by another page than was known. */
  readonly isEntryNew: boolean;
}

/** What a batch changes for a site on a UTC day. */
export interface DayChange {
  readonly siteId: string;
  readonly day: string;
  /** By dimension, then by value. */
  readonly stats: ReadonlyMap<string, ReadonlyMap<string, StatChange>>;
  /** By visitor. */
  readonly visitors: ReadonlyMap<string, VisitorChange>;
  /** By custom event's name, property (empty for the event itself) and value: occurrences. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>;
}

/**
 * Works out what new events change in the rollups of one site and day. Visitors are counted by page views alone, each once
 * per day and value; a custom event makes none.
 * @param events of that site and day, none of them recorded before
 * @param known the visitors among them that were there before
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

/** 64 bits of SHA-256 over dimension and value, as Postgres's bigint and its function `seen_hash` have them. */
export function seenHash(dimension: string, value: string): string {
  return hash64(`${dimension}\n${value}`);
}

/** A row that a batch adds to. */
interface OpenStat extends StatChange {
  readonly hash: string;
}

interface OpenVisitor {
  readonly isNew: boolean;
  /** Not counted in this batch's total yet. */
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

/** The visitor of a page view, with its entry brought up to date. */
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

/** Moves a visitor from the entry page it was counted at to its present one. */
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

/** What a map has for a key, made where it has nothing. */
function obtain<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = make();
  map.set(key, made);
  return made;
}
