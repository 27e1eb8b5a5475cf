import { type ListName, lists, otherValue, type StatisticsList } from "@waymark/lists";
import type { DayColumns } from "../columns/day-columns.js";
import type { DayPart, PartNeeds, TextColumn, VisitDimension } from "../columns/day-part.js";
import type { Days } from "../range.js";
import { sumUp as addSums, type FigureRow, maxListBytes, noSums, rowBytes, type Sums } from "../statistics.query.js";
import { topOf } from "../top-rows.js";
import type { Filter } from "./filter.js";
import { type Match, matchVisits, needsOf } from "./match-visits.js";
import { addAttribute, addHours, addTotals, addViewed, type Counted, countEvents } from "./tally.js";

/**
 * Values of a list held while counting. Above it the half with fewest visitors joins `(other)`, as values beyond a day's bound do in
 * the rollups: a value that comes back lacks its days until then.
 */
const maxValues = 50_000;

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

/** A list's attribute of visits, or its column of views. */
const columnNames: Readonly<Record<ListName, VisitDimension | "pages" | "host">> = {
  topPages: "pages",
  topReferrers: "source",
  topCountries: "country",
  channels: "channel",
  browsers: "browser",
  operatingSystems: "operatingSystem",
  devices: "device",
  entryPages: "entryPage",
  utmSources: "utmSource",
  utmMediums: "utmMedium",
  utmCampaigns: "utmCampaign",
  exitPages: "exitPage",
  hosts: "host",
};

/** Counts the visits that match filters: totals by day, hours, and the top of each list, as `readFigures` answers them. */
export async function readFilteredFigures(columns: DayColumns, query: FilteredQuery): Promise<FigureRow[]> {
  const { siteId, filters, first, last, totalsFrom, limit, withHours } = query;
  const rows: FigureRow[] = [];
  const sums = new Map(query.lists.map((name) => [name, new Map<string, Sums>()]));
  const own = needsOf(filters);
  const needs: PartNeeds = { times: withHours, details: own.details || query.lists.includes("hosts") };
  for await (const { day, parts } of readBoth(columns, {
    siteId,
    days: { first, last },
    before: totalsFrom,
    needs,
    own,
  })) {
    const total = noSums();
    const isAsked = day >= first;
    const hours = Array.from({ length: withHours && isAsked ? 24 : 0 }, noSums);
    for (const part of parts) {
      const match = matchVisits(part, filters);
      const counted = countEvents(part, match);
      if (counted.visits.length === 0) continue;
      addTotals(total, part, counted);
      if (!isAsked) continue;
      if (withHours) addHours(hours, part, counted, match);
      for (const [name, values] of sums) {
        addList(values, part, counted, { name, match });
        if (values.size > maxValues) sums.set(name, withoutRare(values));
      }
    }
    rows.push({ dimension: "total", value: day, ...total });
    for (const [hour, row] of hours.entries()) {
      rows.push({ dimension: "hour", value: `${day}T${String(hour).padStart(2, "0")}`, ...row });
    }
  }
  const maxBytes = Math.floor(maxListBytes / query.lists.length);
  for (const [name, values] of sums) {
    const list = lists[name];
    for (const [value, row] of topOf(values, { list, limit, maxBytes, rowBytes })) {
      rows.push({ dimension: query.dimensionOf(list), value, ...row });
    }
  }
  return rows;
}

/** The days to compare with, for which totals are enough, then the asked ones. */
async function* readBoth(
  columns: DayColumns,
  asked: { siteId: string; days: Days; before: string; needs: PartNeeds; own: PartNeeds },
) {
  const { siteId, days, before, needs, own } = asked;
  if (before < days.first) {
    for await (const day of columns.read({ siteId, days: { first: before, last: days.first }, needs: own })) {
      if (day.day < days.first) yield day;
    }
  }
  yield* columns.read({ siteId, days, needs });
}

function addList(
  sums: Map<string, Sums>,
  part: DayPart,
  counted: Counted,
  { name, match }: { name: ListName; match: Match },
): void {
  const column = columnNames[name];
  if (column !== "pages" && column !== "host") addAttribute(sums, part, counted, part.visits.dimensions[column]);
  else addViewed(sums, part, counted, { match, column: columnOf(part, column) });
}

function columnOf({ events }: DayPart, name: "pages" | "host"): TextColumn {
  const column = name === "pages" ? events.pages : events.details?.host;
  if (!column) throw new Error("The part was read without its details");
  return column;
}

function withoutRare(sums: ReadonlyMap<string, Sums>): Map<string, Sums> {
  const ordered = [...sums].sort(([a, one], [b, other]) => {
    if (a === otherValue || b === otherValue) return a === otherValue ? -1 : 1;
    return other.visitors - one.visitors || other.visits - one.visits;
  });
  const kept = new Map(ordered.slice(0, maxValues / 2));
  const rest = kept.get(otherValue) ?? noSums();
  for (const [, row] of ordered.slice(maxValues / 2)) addSums(rest, row);
  return kept.set(otherValue, rest);
}
