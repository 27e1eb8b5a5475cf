import { listsPerView, otherValue, type ViewFilter, type VisitFilter } from "../../lists/lists.js";
import { visitDimensions } from "../columns/day-part.js";
import { createFinder, type TextFinder } from "../text-finder.js";

/** Dimensions of a visit's page views and custom events. */
const eventDimensions = [...listsPerView.map(({ filter }) => filter as ViewFilter), "event" as const];

export const filterDimensions = [...eventDimensions, ...visitDimensions];

export const operators = ["is", "isNot", "contains", "containsNot"] as const;

type Operator = (typeof operators)[number];

/** What a filter is about: a visit's attribute, its views and events, or a property of its custom events. */
type FilterSubject =
  | { readonly kind: "visit"; readonly dimension: VisitFilter }
  | { readonly kind: "event"; readonly dimension: ViewFilter | "event" }
  | { readonly kind: "property"; readonly name: string };

/** One condition on visits; a query has several, and all must hold. */
export interface Filter {
  readonly subject: FilterSubject;
  /** For `isNot` and `containsNot`. */
  readonly isNegated: boolean;
  /** For `contains` and `containsNot`. */
  readonly isPart: boolean;
  readonly values: readonly string[];
  /** Whether a value is or contains one of the filter's values; the empty text stands for an unknown one. */
  test(value: string): boolean;
}

/** Bounds of `filters`; the characters are of a filter's values that are looked for as a part of texts. */
export const filterBounds = { filters: 10, values: 50, characters: 1_000 } as const;

export class FilterError extends Error {
  override name = "FilterError";
}

/**
 * Reads `dimension:operator:value|value;…` (README, "Filters"). A backslash stands before each `|`, `;`, `:` and `\` of a value.
 * @throws FilterError that says what is wrong
 */
export function parseFilters(text: string): Filter[] {
  const parts = splitAt(text, ";");
  if (parts.length > filterBounds.filters) throw new FilterError(`Must have at most ${filterBounds.filters} filters`);
  return parts.map(parseFilter);
}

function parseFilter(text: string): Filter {
  const [dimension = "", operator = "", values, ...more] = splitAt(text, ":");
  const subject = subjectOf(withoutBackslashes(dimension));
  if (!subject) {
    throw new FilterError(`Must name one of the dimensions ${filterDimensions.join(", ")} or prop.NAME`);
  }
  if (!isOperator(operator)) throw new FilterError(`Must have one of the operators ${operators.join(", ")}`);
  if (values === undefined) throw new FilterError("Must have a value after each operator, as in country:is:DE|FR");
  if (more.length > 0) throw new FilterError("Must have a backslash before each : of a value");
  const wanted = splitAt(values, "|").map(withoutBackslashes);
  if (wanted.length > filterBounds.values) {
    throw new FilterError(`Must have at most ${filterBounds.values} values in a filter`);
  }
  if (wanted.includes(otherValue))
    throw new FilterError(`Must not have the value ${otherValue}, which stands for many`);
  const isPart = operator.startsWith("contains");
  if (isPart && wanted.reduce((sum, { length }) => sum + length, 0) > filterBounds.characters) {
    throw new FilterError(`Must have at most ${filterBounds.characters} characters in all values of ${operator}`);
  }
  return { subject, isNegated: operator.endsWith("Not"), isPart, values: wanted, test: testOf(isPart, wanted) };
}

function isOperator(text: string): text is Operator {
  return (operators as readonly string[]).includes(text);
}

function subjectOf(text: string): FilterSubject | undefined {
  if (text.startsWith("prop.") && text.length > 5) return { kind: "property", name: text.slice(5) };
  const event = eventDimensions.find((name) => name === text);
  if (event) return { kind: "event", dimension: event };
  const visit = visitDimensions.find((name) => name === text);
  return visit && { kind: "visit", dimension: visit };
}

function testOf(isPart: boolean, wanted: readonly string[]): Filter["test"] {
  if (isPart) {
    let find: TextFinder | undefined;
    return (value) => {
      find ??= createFinder(wanted);
      return find(value) >= 0;
    };
  }
  const values = new Set(wanted);
  return (value) => values.has(value);
}

/** Splits at separators without a backslash before them. Backslashes stay. */
function splitAt(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

const escaped = /\\(.?)/gs;

function withoutBackslashes(text: string): string {
  return text.replace(escaped, (_, character: string) => {
    if (!["|", ";", ":", "\\"].includes(character)) throw new FilterError("Must have \\\\ for each \\ of a value");
    return character;
  });
}
