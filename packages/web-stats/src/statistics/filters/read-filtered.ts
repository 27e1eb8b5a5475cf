import { dimensionOf, type ListName, lists, otherValue, type StatisticsList } from "../../lists/lists.js";
import type { ColumnReader } from "../columns/day-columns.js";
import { columnOf, type DayPart, type Ids, isOfDetails, type PartNeeds } from "../columns/day-part.js";
import { orderOf, topOf } from "../list-rows.js";
import { addDays, type Days, hourMs } from "../range.js";
import { sumUp as addSums, type FigureRow, maxListBytes, noSums, rowBytes, type Sums } from "../statistics.query.js";
import { firstOf, type Work } from "../work.js";
import { type Filter, type Match, matchVisits, needsOf } from "./filter.js";

interface Counted {
  readonly visits: Uint32Array;
  /** By visit's index in the part. */
  readonly views: Ids;
  readonly customs: Uint32Array;
}

function countEvents({ visits, events }: DayPart, match: Match): Counted {
  const { count, firstEvent } = visits;
  const customs = new Uint32Array(count);
  const views = match.events ? new Uint32Array(count) : visits.views;
  const matching = new Uint32Array(count);
  let found = 0;
  for (let visit = 0; visit < count; visit++) {
    if (match.visits[visit] === 0) continue;
    matching[found++] = visit;
    const [first, end] = [firstEvent[visit] ?? 0, firstEvent[visit + 1] ?? 0];
    if (!match.events) {
      customs[visit] = end - first - (views[visit] ?? 0);
      continue;
    }
    for (let event = first; event < end; event++) {
      if (match.events[event] === 0) continue;
      if (events.names.ids[event] === 0) views[visit] = (views[visit] ?? 0) + 1;
      else customs[visit] = (customs[visit] ?? 0) + 1;
    }
  }
  return { visits: matching.subarray(0, found), views, customs };
}

interface ByTime {
  readonly match: Match;
  readonly counted: Counted;
  /** The row of a time in milliseconds since midnight; row 0 counts nowhere. */
  rowOf(time: number | undefined): number;
  /** Whether any view of a matching visit makes a visitor, or only one that counts. */
  readonly isOfAnyView: boolean;
}

/** Adds visits, as they ended, to the time they begin in, and visitors, views and events to their own. */
function addByTime(sums: SumTable, part: DayPart, { match, counted, rowOf, isOfAnyView }: ByTime): void {
  const { visits, events } = part;
  const { times } = events;
  if (!times) throw new Error("The part was read without its times");
  const own = { ...counted, customs: new Uint32Array(visits.count) };
  for (const visit of counted.visits) {
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    sums.addVisit(part, own, visit, rowOf(times[first]));
    for (let event = first; event < end; event++) {
      const row = rowOf(times[event]);
      const isView = events.names.ids[event] === 0;
      const counts = match.events?.[event] !== 0;
      if (isView && (counts || isOfAnyView)) sums.addVisitor(visits.visitor[visit] ?? 0, row);
      if (counts) sums.add(row, isView ? figureAt.pageviews : figureAt.events, 1);
    }
  }
}

/** Visits that began before count as they ended. @param before milliseconds since midnight */
export function addTotalsBefore(total: Sums, part: DayPart, match: Match, before: number): void {
  const sums = new SumTable().clear(2);
  const rowOf = (time = before) => (time < before ? 1 : 0);
  addByTime(sums, part, { match, counted: countEvents(part, match), rowOf, isOfAnyView: true });
  sums.addTo(total, 1, part.visits.durationUs);
}

/** Adds the hours: a visit to the one it begins in, a visitor to each with a view that counts, events to their own. */
function addHours(hours: readonly Sums[], part: DayPart, counted: Counted, match: Match): void {
  const sums = new SumTable().clear(1 + hours.length);
  const rowOf = (time = 0) => 1 + Math.floor(time / hourMs);
  addByTime(sums, part, { match, counted, rowOf, isOfAnyView: false });
  for (const [hour, own] of hours.entries()) sums.addTo(own, 1 + hour, part.visits.durationUs);
}

class HeldSums {
  readonly rows = new Map<string, Sums>();
  bytes = 0;

  of(value: string): Sums {
    let row = this.rows.get(value);
    if (!row) {
      row = noSums();
      this.rows.set(value, row);
      this.bytes += heldBytes(value);
    }
    return row;
  }
}

export function heldBytes(value: string): number {
  return 200 + 2 * value.length;
}

const figureAt = { visitors: 0, pageviews: 1, visits: 2, bounces: 3, visit_us: 4, visit_views: 5, events: 6 } as const;

const width = 7;

/** Values between two looks at the work's budget, some 20 µs. */
const foldedTogether = 200;

interface FoldedRows {
  first: number;
  durationUs: number;
}

/** Sums of numbered rows. One table serves all lists of a request, since new ones for each cost much collecting. */
class SumTable {
  length = 0;
  private figures = new Float64Array(0);
  private lastVisitor = new Int32Array(0);
  private lastVisit = new Int32Array(0);

  /** Leaves rows of zeros. */
  clear(length: number): this {
    this.length = length;
    if (this.lastVisitor.length < length) {
      this.figures = new Float64Array(width * length);
      this.lastVisitor = new Int32Array(length);
      this.lastVisit = new Int32Array(length);
    }
    this.figures.fill(0, 0, width * length);
    this.lastVisitor.fill(-1, 0, length);
    this.lastVisit.fill(-1, 0, length);
    return this;
  }

  /** @returns whether the row had no view of this visit before */
  meets(visit: number, row: number): boolean {
    if (this.lastVisit[row] === visit) return false;
    this.lastVisit[row] = visit;
    return true;
  }

  add(row: number, figure: number, count: number): void {
    const at = width * row + figure;
    this.figures[at] = (this.figures[at] ?? 0) + count;
  }

  /** Without `add`, since this runs for each visit in each list. */
  addVisit({ visits }: DayPart, { views, customs }: Counted, visit: number, row: number): void {
    const { figures } = this;
    const at = width * row;
    figures[at + figureAt.visits] = (figures[at + figureAt.visits] ?? 0) + 1;
    figures[at + figureAt.bounces] = (figures[at + figureAt.bounces] ?? 0) + (visits.bounce[visit] ?? 0);
    figures[at + figureAt.visit_us] = (figures[at + figureAt.visit_us] ?? 0) + (visits.duration[visit] ?? 0);
    figures[at + figureAt.visit_views] = (figures[at + figureAt.visit_views] ?? 0) + (views[visit] ?? 0);
    figures[at + figureAt.events] = (figures[at + figureAt.events] ?? 0) + (customs[visit] ?? 0);
  }

  addVisitor(visitor: number, row: number): void {
    if (this.lastVisitor[row] === visitor) return;
    this.lastVisitor[row] = visitor;
    this.add(row, figureAt.visitors, 1);
  }

  /** A loop over names takes three times as long. */
  addTo(sums: Sums, row: number, durationUs: number): void {
    const { figures } = this;
    const at = width * row;
    sums.visitors += figures[at + figureAt.visitors] ?? 0;
    sums.pageviews += figures[at + figureAt.pageviews] ?? 0;
    sums.visits += figures[at + figureAt.visits] ?? 0;
    sums.bounces += figures[at + figureAt.bounces] ?? 0;
    sums.visit_us += (figures[at + figureAt.visit_us] ?? 0) * durationUs;
    sums.visit_views += figures[at + figureAt.visit_views] ?? 0;
    sums.events += figures[at + figureAt.events] ?? 0;
  }

  async foldInto(sums: HeldSums, values: readonly string[], durationUs: number, work: Work): Promise<void> {
    for (let first = 1; first < this.length; first += foldedTogether) {
      const steps = this.foldSome(sums, values, { first, durationUs });
      if (work.spend(steps)) await work.rest();
    }
  }

  /** @returns the steps that it took */
  private foldSome(sums: HeldSums, values: readonly string[], { first, durationUs }: FoldedRows): number {
    const end = Math.min(this.length, first + foldedTogether);
    let steps = end - first;
    for (let id = first; id < end; id++) {
      if (this.figures[width * id + figureAt.visits] === 0) continue;
      const value = values[id] ?? "";
      // The first look at a text reads all of it.
      steps += 30 + (value.length >> 2);
      this.addTo(sums.of(value), id, durationUs);
    }
    return steps;
  }
}

/** Adds visits to the rows of their own values, or all to row 1. Visitors are those with a page view in a matching visit. */
function addVisits(sums: SumTable, part: DayPart, counted: Counted, ids?: Ids): void {
  const { visitor, views } = part.visits;
  const { visits } = counted;
  for (let index = 0; index < visits.length; index++) {
    const visit = visits[index] ?? 0;
    const row = ids ? (ids[visit] ?? 0) : 1;
    if (row === 0) continue;
    sums.addVisit(part, counted, visit, row);
    sums.add(row, figureAt.pageviews, counted.views[visit] ?? 0);
    if ((views[visit] ?? 0) > 0) sums.addVisitor(visitor[visit] ?? 0, row);
  }
}

/** Adds the views that count to the rows of their values: a visit counts once for each value among them. */
function addViews(
  sums: SumTable,
  part: DayPart,
  counted: Counted,
  { counts, ids }: { counts: Match["events"]; ids: Ids },
) {
  const { visitor, firstEvent } = part.visits;
  // A custom event has no path, but a host.
  const names = ids === part.events.pages.ids ? undefined : part.events.names.ids;
  const { visits } = counted;
  for (let index = 0; index < visits.length; index++) {
    const visit = visits[index] ?? 0;
    const end = firstEvent[visit + 1] ?? 0;
    for (let event = firstEvent[visit] ?? 0; event < end; event++) {
      const row = ids[event] ?? 0;
      if (row === 0 || (names && names[event] !== 0) || (counts && counts[event] === 0)) continue;
      sums.add(row, figureAt.pageviews, 1);
      if (!sums.meets(visit, row)) continue;
      sums.addVisit(part, counted, visit, row);
      sums.addVisitor(visitor[visit] ?? 0, row);
    }
  }
}

async function addList(
  held: HeldSums,
  part: DayPart,
  counted: Counted,
  { list, match, sums, work }: { list: StatisticsList; match: Match; sums: SumTable; work: Work },
): Promise<void> {
  const { values, ids } = columnOf(part, list);
  if (values.length <= 1) return;
  sums.clear(values.length);
  if (list.isPerView) addViews(sums, part, counted, { counts: match.events, ids });
  else addVisits(sums, part, counted, ids);
  if (work.spend(5 * (list.isPerView ? part.events.count : counted.visits.length))) await work.rest();
  await sums.foldInto(held, values, part.visits.durationUs, work);
}

/**
 * Bytes of all values held while counting, some 50,000. Above it the half of the largest list with fewest visitors joins `(other)`,
 * as values beyond a day's bound do in the rollups: a value that comes back lacks its days until then.
 */
const maxHeldBytes = 16_777_216;

interface FilteredQuery extends Days {
  siteId: string;
  filters: readonly Filter[];
  /** The day from which totals are read: the first, or an earlier one to compare with. */
  totalsFrom: string;
  lists: readonly ListName[];
  /** Rows of each list at most, whole lists excepted. */
  limit: number;
  withHours: boolean;
  /** Whether a list's rows are answered under the dimension of its visits. */
  withVisits: boolean;
}

/** Counts the visits that match filters: totals by day, hours, and the top of each list, as `readFigures` answers them. */
export async function readFilteredFigures(columns: ColumnReader, query: FilteredQuery): Promise<FigureRow[]> {
  const { siteId, filters, first, last, totalsFrom, withHours } = query;
  const { work } = columns;
  const rows: FigureRow[] = [];
  const sums = new SumTable();
  const sumsOf = new Map(query.lists.map((name) => [name, new HeldSums()]));
  const own = needsOf(filters);
  const needs: PartNeeds = {
    times: withHours,
    details: own.details || query.lists.some((name) => isOfDetails(lists[name])),
  };
  let [total, hours] = [noSums(), noHours(withHours)];
  const onEnd = async (day: string) => {
    rows.push({ dimension: "total", value: day, ...total });
    if (day >= first) {
      for (const [hour, row] of hours.entries()) {
        rows.push({ dimension: "hour", value: `${day}T${String(hour).padStart(2, "0")}`, ...row });
      }
    }
    [total, hours] = [noSums(), noHours(withHours)];
  };
  const count = async (part: DayPart, isAsked: boolean) => {
    const match = await matchVisits(part, filters, work);
    const counted = countEvents(part, match);
    if (counted.visits.length === 0) return;
    sums.clear(2);
    addVisits(sums, part, counted);
    sums.addTo(total, 1, part.visits.durationUs);
    if (!isAsked) return;
    if (withHours) addHours(hours, part, counted, match);
    if (work.spend(5 * part.events.count)) await work.rest();
    for (const [name, held] of sumsOf) {
      await addList(held, part, counted, { list: lists[name], match, sums, work });
      await boundHeld([...sumsOf.values()], work);
    }
  };
  // Totals are enough of the days to compare with.
  if (totalsFrom < first) {
    const days = { first: totalsFrom, last: addDays(first, -1) };
    await columns.read({ siteId, days, needs: own }, ({ part }) => count(part, false), onEnd);
  }
  await columns.read({ siteId, days: { first, last }, needs }, ({ part }) => count(part, true), onEnd);
  for (const [name, held] of sumsOf) rows.push(...(await topRows(held, query, { list: lists[name], work })));
  return rows;
}

function noHours(withHours: boolean): Sums[] {
  return Array.from({ length: withHours ? 24 : 0 }, noSums);
}

async function boundHeld(lists: readonly HeldSums[], work: Work): Promise<void> {
  while (lists.reduce((sum, { bytes }) => sum + bytes, 0) > maxHeldBytes) {
    const largest = lists.reduce((most, list) => (list.bytes > most.bytes ? list : most));
    await dropRare(largest, work);
  }
}

const rankOf = ({ visitors, visits }: Sums) => visitors * 1_048_576 + Math.min(visits, 1_048_575);

/** Leaves the half of the values that ranks highest, and `(other)`. */
async function dropRare(held: HeldSums, work: Work): Promise<void> {
  const ranks = Float64Array.from(held.rows.values(), rankOf).sort();
  const middle = ranks[ranks.length >> 1] ?? 0;
  if (work.spend(1_000_000)) await work.rest();
  let ofMiddle = ranks.length - ranks.indexOf(middle) - (ranks.length >> 1);
  const rest = held.of(otherValue);
  for (const [value, row] of held.rows) {
    if (work.spend(50)) await work.rest();
    if (value === otherValue || rankOf(row) > middle || (rankOf(row) === middle && ofMiddle-- > 0)) continue;
    addSums(rest, row);
    held.rows.delete(value);
    held.bytes -= heldBytes(value);
  }
}

/** The rows of a list. Its first values are found in slices: an order of fifty thousand takes too long in one piece. */
async function topRows(
  { rows: values }: HeldSums,
  { lists: asked, limit: asMany, withVisits }: FilteredQuery,
  { list, work }: { list: StatisticsList; work: Work },
): Promise<FigureRow[]> {
  const limit = list.isWhole ? values.size : asMany + 1;
  const top = new Map(await firstOf(values, { compare: orderOf(list), limit, work }));
  const rest = values.get(otherValue);
  if (rest) top.set(otherValue, rest);
  const maxBytes = Math.floor(maxListBytes / asked.length);
  const bounds = { list, limit: asMany, maxBytes, rowBytes };
  return topOf(top, bounds).map(([value, row]) => ({ dimension: dimensionOf(list, withVisits), value, ...row }));
}
