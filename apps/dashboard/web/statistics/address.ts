import type { Comparison, Range } from "@waymark/web-stats/statistics";
import { queryOf } from "../data/paths.js";
import { rangeProblem } from "../ui/day-range.js";

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
  return queryOf({ ...shared(address), ...unlike({ compare, figure }) });
}

function unlike(part: Partial<Address>): Record<string, string> {
  const others = Object.entries(part).filter(([name, value]) => value !== defaultAddress[name as keyof Address]);
  return Object.fromEntries(others);
}

function shared({ range, from, to, filters }: Address): Record<string, string | undefined> {
  return from !== undefined && to !== undefined ? { from, to, filters } : unlike({ range, filters });
}

/** Where the statistics of a site are: of the account's own, or of a shared link. */
export interface Source {
  /** Below the data's address. */
  data: string;
  page: string;
  /** Of the account's own. */
  siteId?: string;
}

const dataOf = (siteId: string) => `/sites/${encodeURIComponent(siteId)}`;

export function sourceOf({ id = "", token }: Readonly<Record<string, string>>): Source {
  if (token !== undefined) return { data: `/shared/${token}`, page: `/dashboard/shared/${token}` };
  return { data: dataOf(id), page: `/dashboard/sites/${id}`, siteId: id };
}

type Data = Pick<Source, "data">;

export function statsPath({ data }: Data, address: Address): string {
  return `${data}/stats${comparedQuery(address)}`;
}

/** The path of one list with all its rows, or of its file. */
export function listPath({ data }: Data, address: Address, { list, isCsv }: { list: string; isCsv: boolean }): string {
  const rows = { lists: list, limit: 1000, ...(isCsv ? { csv: 1 } : { compare: "off" }) };
  return `${data}/stats${queryOf({ ...shared(address), ...rows })}`;
}

export function eventsPath({ data }: Data, address: Address): string {
  return `${data}/events${queryOf(shared(address))}`;
}

const comparedQuery = (address: Address) => queryOf({ ...shared(address), ...unlike({ compare: address.compare }) });

export function goalsPath(siteId: string, address: Address): string {
  return `${dataOf(siteId)}/goals${comparedQuery(address)}`;
}

/** @param rule a goal's, in the API's words */
export function goalCountPath(
  siteId: string,
  address: Address,
  rule: Readonly<Record<string, string | undefined>>,
): string {
  return `${dataOf(siteId)}/goals/count${queryOf({ ...shared(address), ...rule })}`;
}

export function funnelsPath(siteId: string, address: Address): string {
  return `${dataOf(siteId)}/funnels${comparedQuery(address)}`;
}

export function realtimePath({ data }: Data, { filters }: Address): string {
  return `${data}/realtime${queryOf({ filters })}`;
}

export function aiPath({ data }: Data, address: Address): string {
  return `${data}/ai${queryOf(shared(address))}`;
}
