import { type ListName, lists, otherValue, type StatisticsList } from "../../lists/lists.js";
import type { ColumnReader } from "../columns/day-columns.js";
import { columnOf, type DayPart, isOfDetails, type PartNeeds } from "../columns/day-part.js";
import { orderOf, topOf } from "../list-rows.js";
import { addDays, type Days } from "../range.js";
import { sumUp as addSums, type FigureRow, maxListBytes, noSums, rowBytes, type Sums } from "../statistics.query.js";
import { firstOf, type Work } from "../work.js";
import type { Filter } from "./filter.js";
import { matchVisits, needsOf } from "./match-visits.js";
import { addAttribute, addHours, addTotals, addViewed, countEvents, HeldSums, heldBytes } from "./tally.js";

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
  /** The dimension under which a list's rows are answered. */
  dimensionOf(list: StatisticsList): string;
}

/** Counts the visits that match filters: totals by day, hours, and the top of each list, as `readFigures` answers them. */
export async function readFilteredFigures(columns: ColumnReader, query: FilteredQuery): Promise<FigureRow[]> {
  const { siteId, filters, first, last, totalsFrom, withHours } = query;
  const { work } = columns;
  const rows: FigureRow[] = [];
  const sums = new Map(query.lists.map((name) => [name, new HeldSums()]));
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
    addTotals(total, part, counted);
    if (!isAsked) return;
    if (withHours) addHours(hours, part, counted, match);
    if (work.spend(5 * part.events.count)) await work.rest();
    for (const [name, held] of sums) {
      const add = lists[name].isPerView ? addViewed : addAttribute;
      await add(held, part, counted, { match, column: columnOf(part, lists[name]), work });
      await boundHeld([...sums.values()], work);
    }
  };
  // Totals are enough of the days to compare with.
  if (totalsFrom < first) {
    const days = { first: totalsFrom, last: addDays(first, -1) };
    await columns.read({ siteId, days, needs: own }, ({ part }) => count(part, false), onEnd);
  }
  await columns.read({ siteId, days: { first, last }, needs }, ({ part }) => count(part, true), onEnd);
  for (const [name, held] of sums) rows.push(...(await topRows(held, query, { list: lists[name], work })));
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

/** By visitors, then visits. */
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
  { lists: asked, limit: asMany, dimensionOf }: FilteredQuery,
  { list, work }: { list: StatisticsList; work: Work },
): Promise<FigureRow[]> {
  const limit = list.isWhole ? values.size : asMany + 1;
  const top = new Map(await firstOf(values, { compare: orderOf(list), limit, work }));
  const rest = values.get(otherValue);
  if (rest) top.set(otherValue, rest);
  const maxBytes = Math.floor(maxListBytes / asked.length);
  const bounds = { list, limit: asMany, maxBytes, rowBytes };
  return topOf(top, bounds).map(([value, row]) => ({ dimension: dimensionOf(list), value, ...row }));
}
