import { LRUCache } from "lru-cache";
import { lists, listsPerView, viewLists, visitDimensionOf, visitLists } from "../../lists/lists.js";
import { hash64 } from "../visitors/hash-visitor.js";
import { addOccurrences, type CountedAs, type Occurrences, type OpenOccurrences, rolledValue } from "./overflow.js";
import type { SiteEvent } from "./site-event.js";
import { isWaiting, microsOf, type OpenVisit, type Visit, type VisitorVisits } from "./visit.js";

/** The figures of a row of `daily_stat`, and its columns. */
export const statFigures = [
  "visitors",
  "pageviews",
  "visits",
  "bounces",
  "visit_us",
  "visit_views",
  "events",
  "engagements",
] as const;

type StatFigure = (typeof statFigures)[number];

export type StatChange = Record<StatFigure, number>;

interface OpenStat extends StatChange {
  /** Empty in dimensions that no visitor has seen. */
  readonly hash: string;
}

/**
 * 64 bits of SHA-256 over dimension and value, like the database function `seen_hash`. Two values of one visitor's day collide
 * once in 10^15 days with a hundred values each. The next batch often has the same values.
 */
const seenHashes = new LRUCache<string, string>({ max: 20_000, memoMethod: hash64 });

function seenHash(dimension: string, value: string): string {
  return seenHashes.memo(`${dimension}\n${value}`);
}

const seenDimensions = new Set(["hour", ...viewLists.map(({ dimension }) => dimension)]);
const dimensionsPerView = new Set(listsPerView.map(({ dimension }) => dimension));

class StatTable {
  readonly tables = new Map<string, Map<string, OpenStat>>();
  /** Rows of which only the hash is known. */
  readonly unnamed = new Map<string, OpenStat>();
  private readonly perView = new Map<string, OpenStat>();

  constructor(readonly countedAs: CountedAs) {}

  row(dimension: string, value: string): OpenStat {
    return this.at(dimension, this.countedAs(dimension, value));
  }

  /** The row of a value that may be `(other)` already. */
  at(dimension: string, value: string): OpenStat {
    let table = this.tables.get(dimension);
    if (!table) {
      table = new Map();
      this.tables.set(dimension, table);
    }
    const there = table.get(value);
    if (there) return there;
    const made = openStat(seenDimensions.has(dimension) ? seenHash(dimension, value) : "");
    table.set(value, made);
    if (dimensionsPerView.has(dimension)) this.perView.set(made.hash, made);
    return made;
  }

  /** The row of a list by view. Rows that the batch names must be there before. */
  withHash(hash: string): OpenStat {
    const there = this.perView.get(hash) ?? this.unnamed.get(hash);
    if (there) return there;
    const made = openStat(hash);
    this.unnamed.set(hash, made);
    return made;
  }
}

const noFigures: Readonly<StatChange> = {
  visitors: 0,
  pageviews: 0,
  visits: 0,
  bounces: 0,
  visit_us: 0,
  visit_views: 0,
  events: 0,
  engagements: 0,
};

function openStat(hash: string): OpenStat {
  return { hash, ...noFigures };
}

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

interface VisitorChange {
  readonly isNew: boolean;
  readonly newlySeen: readonly string[];
  readonly entry: Entry;
  readonly isEntryNew: boolean;
}

export interface DayChange {
  readonly siteId: string;
  readonly day: string;
  /** By dimension, then by value. */
  readonly stats: ReadonlyMap<string, ReadonlyMap<string, StatChange>>;
  /** By the hash of dimension and value, where the batch does not name them. */
  readonly unnamedStats: ReadonlyMap<string, StatChange>;
  readonly visitors: ReadonlyMap<string, VisitorChange>;
  readonly visits: readonly VisitChange[];
  readonly events: Occurrences;
}

/**
 * Works out the changes of new events in the rollups of one site and day. Only page views count visitors, each once per day and
 * value. `known` has the day's visitors among them, and `visits` is what `mergeVisits` made of the events.
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
  const occurrences: OpenOccurrences = new Map();
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

function countEntry(stats: StatTable, before: Entry | undefined, visitor: OpenVisitor): void {
  const { entry } = visitor;
  if (before?.id === entry.id) return;
  visitor.isEntryNew = true;
  if (before) stats.at("entry", before.path).visitors--;
  stats.at("entry", entry.path).visitors++;
}

function countOccurrence(occurrences: OpenOccurrences, { name, props }: SiteEvent): void {
  addOccurrences(occurrences, [name ?? "", "", ""], 1);
  for (const [property, value] of Object.entries(props ?? {}))
    addOccurrences(occurrences, [name ?? "", property, rolledValue(value)], 1);
}

const [entryDimension, exitDimension] = [visitDimensionOf(lists.entryPages), visitDimensionOf(lists.exitPages)];
const hourUs = 3_600_000_000;

function hourOf(us: number): string {
  return String(Math.floor(us / hourUs)).padStart(2, "0");
}

interface VisitChange {
  readonly visitor: string;
  /** The beginnings of rows that go. */
  readonly removed: readonly number[];
  readonly added: readonly Visit[];
  /** Visits with the beginning and the entry of their row. */
  readonly grown: readonly Visit[];
}

const none: readonly number[] = [];

/** Moves visits' figures from what they were to what they are. The table has the rows of the batch's page views. */
function countVisits(stats: StatTable, visitors: readonly VisitorVisits[]): VisitChange[] {
  return visitors.map(({ visitor, known, before, after }) => {
    for (const visit of after) addViewed(stats, visit);
    for (const visit of before) addFigures(stats, visit, -1);
    for (const visit of after) addFigures(stats, visit, 1);
    const present = known.length === 0 ? after : [...known.filter((visit) => !before.includes(visit)), ...after];
    countVisitors(stats, entryDimension, pathsOf(known, "entryPath"), pathsOf(present, "entryPath"));
    countVisitors(stats, exitDimension, pathsOf(known, "exitPath"), pathsOf(present, "exitPath"));
    if (before.length === 0) return { visitor, removed: none, added: after, grown: [] };
    const grown = after.filter((visit) => before.some((row) => hasSameBeginning(row, visit)));
    return {
      visitor,
      removed: before
        .filter((row) => !grown.some((visit) => hasSameBeginning(row, visit)))
        .map(({ firstUs }) => firstUs),
      added: after.filter((visit) => !grown.includes(visit)),
      grown,
    };
  });
}

function hasSameBeginning(a: Visit, b: Visit): boolean {
  return a.firstUs === b.firstUs && a.entryId === b.entryId;
}

function addViewed(stats: StatTable, visit: OpenVisit): void {
  const { viewed, added } = visit;
  const known = viewed.length + added.length > 16 ? new Set(viewed) : undefined;
  for (const event of added) {
    for (const { dimension, column } of listsPerView) {
      const value = event[column];
      if (value === null) continue;
      const { hash } = stats.row(dimension, value);
      if (known ? known.has(hash) : viewed.includes(hash)) continue;
      known?.add(hash);
      viewed.push(hash);
    }
  }
}

/** Adds a visit's figures to all its rows, or takes them away. Custom events of the day and its hours are counted one by one. */
function addFigures(stats: StatTable, visit: Visit, sign: 1 | -1): void {
  if (isWaiting(visit)) return;
  const { firstUs, entryPath, exitPath, origin, viewed } = visit;
  addVisit(stats.at("total", ""), visit, sign, 0);
  addVisit(stats.at("hour", hourOf(firstUs)), visit, sign, 0);
  const events = sign * visit.events;
  if (entryPath !== null) addVisit(stats.row(entryDimension, entryPath), visit, sign, events);
  if (exitPath !== null) addVisit(stats.row(exitDimension, exitPath), visit, sign, events);
  for (const { dimension, column } of visitLists) {
    const value = origin[column];
    if (value !== null && value !== undefined) addVisit(stats.row(dimension, value), visit, sign, events);
  }
  for (const hash of viewed) addVisit(stats.withHash(hash), visit, sign, events);
}

function addVisit(row: OpenStat, visit: Visit, sign: 1 | -1, events: number): void {
  row.visits += sign;
  if (visit.views === 1 && visit.events === visit.passive) row.bounces += sign;
  row.visit_us += sign * (visit.endUs - visit.firstUs);
  row.visit_views += sign * visit.views;
  row.events += events;
}

function pathsOf(visits: readonly Visit[], path: "entryPath" | "exitPath"): readonly string[] {
  const paths: string[] = [];
  for (const visit of visits) {
    const value = visit[path];
    if (value !== null) paths.push(value);
  }
  return paths;
}

function countVisitors(stats: StatTable, dimension: string, before: readonly string[], after: readonly string[]): void {
  const [former] = before;
  const [present] = after;
  if (before.length <= 1 && after.length <= 1) {
    if (former === present) return;
    if (former !== undefined) stats.row(dimension, former).visitors--;
    if (present !== undefined) stats.row(dimension, present).visitors++;
    return;
  }
  const rowsOf = (paths: readonly string[]) => new Set(paths.map((path) => stats.row(dimension, path)));
  for (const row of rowsOf(before)) row.visitors--;
  for (const row of rowsOf(after)) row.visitors++;
}
