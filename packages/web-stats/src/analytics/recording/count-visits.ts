import { lists, listsPerView, visitDimensionOf, visitLists } from "../../lists/lists.js";
import type { OpenStat, StatTable } from "./stat-table.js";
import { isWaiting, type OpenVisit, type Visit, type VisitorVisits } from "./visit.js";

const [entryDimension, exitDimension] = [visitDimensionOf(lists.entryPages), visitDimensionOf(lists.exitPages)];
const hourUs = 3_600_000_000;

/** The hour of the day as a value of the dimension `hour`. */
export function hourOf(us: number): string {
  return String(Math.floor(us / hourUs)).padStart(2, "0");
}

/** A batch's changes of a visitor's rows of `visit`. */
export interface VisitChange {
  readonly visitor: string;
  /** The beginnings of rows that go. */
  readonly removed: readonly number[];
  readonly added: readonly Visit[];
  /** Visits with the beginning and the entry of their row. */
  readonly grown: readonly Visit[];
}

const none: readonly number[] = [];

/**
 * Moves the figures of visits from what they were to what they are. The table has the rows of the batch's page views.
 * @returns the changes of rows
 */
export function countVisits(stats: StatTable, visitors: readonly VisitorVisits[]): VisitChange[] {
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

/** Adds the hashes of the values of new page views. */
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
  add(stats.at("total", ""), visit, sign, 0);
  add(stats.at("hour", hourOf(firstUs)), visit, sign, 0);
  const events = sign * visit.events;
  if (entryPath !== null) add(stats.row(entryDimension, entryPath), visit, sign, events);
  if (exitPath !== null) add(stats.row(exitDimension, exitPath), visit, sign, events);
  for (const { dimension, column } of visitLists) {
    const value = origin[column];
    if (value !== null && value !== undefined) add(stats.row(dimension, value), visit, sign, events);
  }
  for (const hash of viewed) add(stats.withHash(hash), visit, sign, events);
}

function add(row: OpenStat, visit: Visit, sign: 1 | -1, events: number): void {
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

/** Counts a visitor once for each value. */
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
