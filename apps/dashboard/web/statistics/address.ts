import type { Comparison, Range } from "@waymark/web-stats/statistics";
import { rangeProblem } from "../ui/day-range.js";

/** In the order of the page. */
export const figureNames = [
  "visitors",
  "pageviews",
  "ratio",
  "events",
  "visits",
  "viewsPerVisit",
  "bounceRate",
  "visitDuration",
] as const;

export type FigureName = (typeof figureNames)[number];

/** What the page's address asks for. */
export interface Address {
  range: Range | "custom";
  /** Both days of a custom range. */
  from?: string;
  to?: string;
  compare: Comparison;
  figure: FigureName;
  /** In the API's words, as they stand in the address; empty without one. */
  filters: string;
}

/** An address without a query. */
export const defaultAddress: Address = { range: "7d", compare: "previous", figure: "visitors", filters: "" };

const ranges: readonly string[] = ["today", "7d", "30d"] satisfies Range[];
const comparisons: readonly string[] = ["previous", "year", "off"] satisfies Comparison[];

/** Of a custom range, as in the API. */
export const maxDays = 366;

/** Reads an address; what it does not know falls back to the default. */
export function readAddress(query: Readonly<Record<string, string>>): Address {
  const { range = "", from = "", to = "", compare = "", figure = "", filters = "" } = query;
  const isCustom = rangeProblem(from, to, maxDays) === undefined;
  return {
    range: isCustom ? "custom" : oneOf(ranges, range, defaultAddress.range),
    ...(isCustom ? { from, to } : {}),
    compare: oneOf(comparisons, compare, defaultAddress.compare),
    figure: oneOf(figureNames, figure, defaultAddress.figure),
    filters,
  };
}

function oneOf<Value extends string>(values: readonly string[], text: string, otherwise: Value): Value {
  return values.includes(text) ? (text as Value) : otherwise;
}

/** The query of an address with its `?`; nothing for the default. */
export function writeAddress(address: Address): string {
  const { compare, figure } = address;
  const query = baseQuery(address);
  if (compare !== defaultAddress.compare) query.set("compare", compare);
  if (figure !== defaultAddress.figure) query.set("figure", figure);
  return toText(query);
}

/** What every request of the page shares: its days and its filters. */
function baseQuery({ range, from, to, filters }: Address): URLSearchParams {
  const query = new URLSearchParams();
  if (from !== undefined && to !== undefined) {
    query.set("from", from);
    query.set("to", to);
  } else if (range !== defaultAddress.range) query.set("range", range);
  if (filters !== "") query.set("filters", filters);
  return query;
}

function toText(query: URLSearchParams): string {
  return query.size === 0 ? "" : `?${query}`;
}

/** The path of a site's statistics below `/dashboard/api`. */
export function statsPath(siteId: string, address: Address): string {
  const query = baseQuery(address);
  if (address.compare !== defaultAddress.compare) query.set("compare", address.compare);
  return `/sites/${encodeURIComponent(siteId)}/stats${toText(query)}`;
}

/** The path of one list with all its rows, or of its file. */
export function listPath(siteId: string, address: Address, { list, isCsv }: { list: string; isCsv: boolean }): string {
  const query = baseQuery(address);
  query.set("lists", list);
  query.set("limit", "1000");
  query.set(isCsv ? "csv" : "compare", isCsv ? "1" : "off");
  return `/sites/${encodeURIComponent(siteId)}/stats${toText(query)}`;
}

/** The path of a site's custom events below `/dashboard/api`. */
export function eventsPath(siteId: string, address: Address): string {
  return `/sites/${encodeURIComponent(siteId)}/events${toText(baseQuery(address))}`;
}

/** The path of a site's present visitors below `/dashboard/api`. */
export function realtimePath(siteId: string, { filters }: Address): string {
  const query = new URLSearchParams(filters === "" ? {} : { filters });
  return `/sites/${encodeURIComponent(siteId)}/realtime${toText(query)}`;
}
