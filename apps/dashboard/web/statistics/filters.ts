import { lists } from "@waymark/web-stats/lists";

/** A condition on the page's visits, in the words of the API's `filters`. */
export interface PageFilter {
  dimension: string;
  operator: string;
  values: readonly string[];
}

/** The page's filters as they stand in its address, and how a part of the page changes them. */
export interface PageFilters {
  filters: string;
  onFilters(filters: string): void;
}

const names: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.values(lists).map(({ filter, label }) => [filter, label])),
  event: "Custom event",
};

const words: Readonly<Record<string, string>> = {
  is: "is",
  isNot: "is not",
  contains: "contains",
  containsNot: "does not contain",
};

/** Reads a text of filters; what has no operator and values becomes one filter of its text, which the server refuses. */
export function readFilters(text: string): PageFilter[] {
  if (text === "") return [];
  return splitAt(text, ";").map((part) => {
    const [dimension = "", operator = "", ...values] = splitAt(part, ":");
    if (values.length === 0) return { dimension: part, operator: "", values: [] };
    return {
      dimension: withoutBackslashes(dimension),
      operator,
      values: splitAt(values.join(":"), "|").map(withoutBackslashes),
    };
  });
}

export function writeFilters(filters: readonly PageFilter[]): string {
  return filters
    .map(({ dimension, operator, values }) =>
      operator === ""
        ? dimension
        : `${withBackslashes(dimension)}:${operator}:${values.map(withBackslashes).join("|")}`,
    )
    .join(";");
}

function splitAt(text: string, separator: string): string[] {
  const parts = [""];
  for (const [sign] of text.matchAll(/\\.|./gsu)) {
    if (sign === separator) parts.push("");
    else parts[parts.length - 1] += sign;
  }
  return parts;
}

function withBackslashes(text: string): string {
  return text.replace(/[|;:\\]/g, "\\$&");
}

function withoutBackslashes(text: string): string {
  return text.replace(/\\([|;:\\])/g, "$1");
}

export function hasFilter(text: string, dimension: string, value: string): boolean {
  return readFilters(text).some((filter) => isOnly(filter, dimension) && filter.values[0] === value);
}

function isOnly({ dimension, operator, values }: PageFilter, wanted: string): boolean {
  return dimension === wanted && operator === "is" && values.length === 1;
}

/** Adds the condition that a dimension is a value, in place of one with another value; takes away one with the same. */
export function toggleFilter(text: string, dimension: string, value: string): string {
  const others = readFilters(text).filter((filter) => filter.dimension !== dimension || filter.operator !== "is");
  if (hasFilter(text, dimension, value)) return writeFilters(others);
  return writeFilters([...others, { dimension, operator: "is", values: [value] }]);
}

/** A filter in words: `Country is DE or FR`. */
export function sayFilter({ dimension, operator, values }: PageFilter): string {
  if (operator === "") return dimension;
  return `${nameOf(dimension)} ${lookUp(words, operator)} ${values.map((value) => value || "unknown").join(" or ")}`;
}

function nameOf(dimension: string): string {
  if (dimension.startsWith("prop.")) return `Property ${dimension.slice(5)}`;
  return lookUp(names, dimension);
}

function lookUp(table: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(table, name) ? (table[name] ?? name) : name;
}
