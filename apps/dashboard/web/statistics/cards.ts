import { type ListName, listNames, lists, otherValue } from "@waymark/web-stats/lists";
import type { ListAnswer } from "@waymark/web-stats/statistics";

export interface CardList {
  list: ListName;
  label: string;
  isMono: boolean;
}

interface Card {
  name: string;
  lists: readonly [CardList, ...CardList[]];
}

export const cards: readonly Card[] = [...new Set(Object.values(lists).map(({ card }) => card))].map((name) => ({
  name,
  lists: listNames
    .filter((list) => lists[list].card === name)
    .sort((one, other) => tabOf(one) - tabOf(other))
    .map((list) => ({ list, label: pluralOf(lists[list].label), isMono: name === "Pages" })) as [
    CardList,
    ...CardList[],
  ],
}));

function tabOf(list: ListName): number {
  return lists[list].tab ?? Number.MAX_SAFE_INTEGER;
}

function pluralOf(label: string): string {
  return `${label.replace(/y$/, "ie")}s`;
}

export interface Row {
  value: string;
  visitors: number;
  pageviews: number | undefined;
  isOther: boolean;
}

export function toRows(list: ListName, answer: ListAnswer | undefined): Row[] {
  const { key } = lists[list];
  const rows = Array.isArray(answer)
    ? answer
    : Object.entries(answer ?? {}).map(([value, figures]) => ({ [key]: value, ...figures }));
  return rows.map((row) => ({
    value: String(row[key]),
    visitors: Number(row["visitors"]),
    pageviews: row["pageviews"] === undefined ? undefined : Number(row["pageviews"]),
    isOther: row[key] === otherValue,
  }));
}

/** The first rows, and `(other)` last where the list has it. */
export function firstRows(rows: readonly Row[], count: number): Row[] {
  const ranked = rows.filter(({ isOther }) => !isOther);
  const other = rows.filter(({ isOther }) => isOther);
  return [...ranked.slice(0, count - other.length), ...other];
}

let regions: Intl.DisplayNames | undefined;

/** The text of a value: a country's name for its code, else the value. */
export function labelOf(list: ListName, value: string): string {
  if (list !== "topCountries" || !/^[A-Z]{2}$/.test(value)) return value;
  regions ??= new Intl.DisplayNames("en", { type: "region" });
  return regions.of(value) ?? value;
}
