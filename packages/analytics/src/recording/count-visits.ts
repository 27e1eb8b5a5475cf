import { lists, viewLists, visitDimensionOf, visitLists } from "@waymark/lists";
import type { OpenStat, StatTable } from "./stat-table.js";
import type { Visit, VisitorVisits } from "./visit.js";

const listsPerView = viewLists.filter(({ isPerView }) => isPerView);
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
  readonly written: readonly Visit[];
}

/**
 * Moves the figures of visits from what they were to what they are. The table has the rows of the batch's page views.
 * @returns the changes of rows
 */
export function countVisits(stats: StatTable, visitors: readonly VisitorVisits[]): VisitChange[] {
  return visitors.map(({ visitor, known, before, after }) => {
    const written = after.map((visit) => withHashes(stats, visit));
    for (const visit of before) addFigures(stats, visit, -1);
    for (const visit of written) addFigures(stats, visit, 1);
    const present = [...known.filter((visit) => !before.includes(visit)), ...written];
    countVisitors(stats, entryDimension, pathsOf(known, "entryPath"), pathsOf(present, "entryPath"));
    countVisitors(stats, exitDimension, pathsOf(known, "exitPath"), pathsOf(present, "exitPath"));
    const kept = new Set(written.map(({ firstUs }) => firstUs));
    return { visitor, removed: before.map(({ firstUs }) => firstUs).filter((us) => !kept.has(us)), written };
  });
}

/** The visit with the hashes of all its values. */
function withHashes(stats: StatTable, visit: Visit): Visit {
  const viewed = new Set(visit.viewed);
  for (const event of visit.added) {
    for (const { dimension, column } of listsPerView) {
      const value = event[column];
      if (value !== null) viewed.add(stats.row(dimension, value).hash);
    }
  }
  return { ...visit, viewed: [...viewed], added: [] };
}

/** Adds a visit's figures to all its rows, or takes them away. Custom events of the day and its hours are counted one by one. */
function addFigures(stats: StatTable, visit: Visit, sign: 1 | -1): void {
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
  if (visit.views === 1 && visit.events === 0) row.bounces += sign;
  row.visit_us += sign * (visit.lastUs - visit.firstUs);
  row.visit_views += sign * visit.views;
  row.events += events;
}

function pathsOf(visits: readonly Visit[], path: "entryPath" | "exitPath"): string[] {
  return visits.flatMap((visit) => visit[path] ?? []);
}

/** Counts a visitor once for each value. */
function countVisitors(stats: StatTable, dimension: string, before: readonly string[], after: readonly string[]): void {
  if (before.length === 1 && after.length === 1 && before[0] === after[0]) return;
  const rowsOf = (paths: readonly string[]) => new Set(paths.map((path) => stats.row(dimension, path)));
  for (const row of rowsOf(before)) row.visitors--;
  for (const row of rowsOf(after)) row.visitors++;
}
