import { otherValue } from "@waymark/web-stats/lists";
import type { SiteGoals } from "../../src/goals/goals.route.js";
import { type PageFilter, readFilters, writeFilters } from "../statistics/filters.js";

export type Goal = SiteGoals["goals"][number];

type Rule = Pick<Goal, "event" | "property" | "value" | "page">;

/** The longest text of `contains` in the API. */
const maxPart = 1_000;

/** The filters of visits that fulfil a goal; undefined for a rule that filters cannot say. */
export function filtersOf({ event, property, value, page }: Rule): readonly PageFilter[] | undefined {
  const is = (dimension: string, text: string): PageFilter => ({ dimension, operator: "is", values: [text] });
  // An empty value would also match events without the property.
  if ([event, value, page].includes(otherValue) || value === "") return undefined;
  if (event !== null) {
    return property === null || value === null
      ? [is("event", event)]
      : [is("event", event), is(`prop.${property}`, value)];
  }
  if (page === null) return undefined;
  if (!page.includes("*")) return [is("page", page)];
  const [, part] = /^\*([^*]+)\*$/.exec(page) ?? [];
  if (part === undefined || part.length > maxPart) return undefined;
  return [{ dimension: "page", operator: "contains", values: [part] }];
}

const isSame = (one: PageFilter, other: PageFilter) => writeFilters([one]) === writeFilters([other]);

export function hasFilters(text: string, own: readonly PageFilter[]): boolean {
  const present = readFilters(text);
  return own.every((filter) => present.some((each) => isSame(each, filter)));
}

/** Adds a goal's filters in place of another goal's; takes its own away. */
export function toggleFilters(text: string, own: readonly PageFilter[]): string {
  const present = readFilters(text);
  const isOwn = (filter: PageFilter) => own.some((each) => isSame(each, filter));
  if (hasFilters(text, own)) return writeFilters(present.filter((filter) => !isOwn(filter)));
  const isOfEvent = own.some(({ dimension }) => dimension === "event");
  const isOther = ({ dimension, operator }: PageFilter) =>
    !operator.endsWith("Not") &&
    (own.some((each) => each.dimension === dimension) || (isOfEvent && dimension.startsWith("prop.")));
  return writeFilters([...present.filter((filter) => !isOther(filter)), ...own]);
}
