import { listsPerView, otherValue, type ViewFilter, type VisitFilter } from "../../lists/lists.js";
import { type DayPart, type PartNeeds, type TextColumn, visitDimensions } from "../columns/day-part.js";
import type { Work } from "../work.js";

/** Finds one of several texts: answers where the first one to end ends, at or after a position; -1 for none. */
type TextFinder = (text: string, from?: number) => number;

/**
 * Makes a finder that takes one pass, whatever the texts are (Aho and Corasick, 1975): `includes` takes up to 80 ns a character for
 * each text. Its table has a row for each of their characters, and a column for each different one.
 */
export function createFinder(wanted: readonly string[]): TextFinder {
  if (wanted.includes("")) return (_text, from = 0) => from;
  const [only = "", ...others] = wanted;
  // Looking for one character is a single pass, too, and a quicker one.
  if (others.length === 0 && only.length === 1) return (text, from) => text.indexOf(only, from) + 1 || -1;
  const columns = new Map<number, number>();
  for (const text of wanted) {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (!columns.has(unit)) columns.set(unit, columns.size + 1);
    }
  }
  const ofAscii = Uint16Array.from({ length: 128 }, (_, unit) => columns.get(unit) ?? 0);
  const columnOf = (unit: number) => (unit < 128 ? ofAscii[unit] : columns.get(unit)) ?? 0;
  const { next, isEnd, width } = fillTable(wanted, columns.size + 1, columnOf);
  return (text, from = 0) => {
    let state = 0;
    for (let at = from; at < text.length; at++) {
      state = next[state * width + columnOf(text.charCodeAt(at))] ?? 0;
      if (isEnd[state] === 1) return at + 1;
    }
    return -1;
  };
}

/** State 0 has found no beginning, and column 0 stands for all other characters. */
function fillTable(wanted: readonly string[], width: number, columnOf: (unit: number) => number) {
  const most = 1 + wanted.reduce((sum, { length }) => sum + length, 0);
  const next = new Uint16Array(most * width);
  const isEnd = new Uint8Array(most);
  let states = 1;
  for (const text of wanted) {
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      const cell = state * width + columnOf(text.charCodeAt(at));
      next[cell] ||= states++;
      state = next[cell] ?? 0;
    }
    isEnd[state] = 1;
  }
  // Breadth first: the longest end of a state that is a beginning, too, is a shorter one, whose row is complete.
  const shorter = new Uint16Array(states);
  const queue = [0];
  for (const state of queue) {
    const row = state * width;
    const other = (shorter[state] ?? 0) * width;
    if (isEnd[shorter[state] ?? 0] === 1) isEnd[state] = 1;
    for (let column = 1; column < width; column++) {
      const following = next[row + column] ?? 0;
      const fallback = state === 0 ? 0 : (next[other + column] ?? 0);
      if (following === 0) next[row + column] = fallback;
      else {
        shorter[following] = fallback;
        queue.push(following);
      }
    }
  }
  return { next, isEnd, width };
}

const eventDimensions = [...listsPerView.map(({ filter }) => filter as ViewFilter), "event" as const];

export const filterDimensions = [...eventDimensions, ...visitDimensions];

export const operators = ["is", "isNot", "contains", "containsNot"] as const;

type Operator = (typeof operators)[number];

/** What a filter is about: a visit's attribute, its views and events, or a property of its custom events. */
type FilterSubject =
  | { readonly kind: "visit"; readonly dimension: VisitFilter }
  | { readonly kind: "event"; readonly dimension: ViewFilter | "event" }
  | { readonly kind: "property"; readonly name: string };

export interface Filter {
  readonly subject: FilterSubject;
  readonly isNegated: boolean;
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

/** Reads `dimension:operator:value|value;…` (README, "Filters"), escaped by backslashes. @throws FilterError */
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

export interface Match {
  /** 1 for each visit that matches. */
  readonly visits: Uint8Array;
  /** 1 for each event that counts: page views by filters of `page`, custom events by those of `event` and properties. */
  readonly events: Uint8Array | undefined;
}

export function needsOf(filters: readonly Filter[]): PartNeeds {
  const needsDetails = ({ subject }: Filter) =>
    subject.kind === "property" || (subject.kind === "event" && !["page", "event"].includes(subject.dimension));
  return { details: filters.some(needsDetails) };
}

/**
 * Finds the visits for which all filters hold. An attribute is the visit's own. A filter of `page`, `host`, `event` or a
 * property holds when one of the visit's views or events fulfils it, a negated one when none has the value. Filters of events and
 * properties that are not negated must hold for one and the same event.
 */
export async function matchVisits(part: DayPart, filters: readonly Filter[], work: Work): Promise<Match> {
  const visits = new Uint8Array(part.visits.count).fill(1);
  const checks: Check[] = [];
  for (const filter of filters) {
    const { subject, isNegated } = filter;
    if (subject.kind !== "visit") {
      checks.push(await checkOf(part, subject, filter, work));
      continue;
    }
    const { values, ids } = part.visits.dimensions[subject.dimension];
    const passes = await testValues(values, filter, work);
    if (isNegated) flip(passes);
    for (let visit = 0; visit < visits.length; visit++)
      visits[visit] = (visits[visit] ?? 0) & (passes[ids[visit] ?? 0] ?? 0);
    if (work.spend(visits.length)) await work.rest();
  }
  if (checks.length === 0) return { visits, events: undefined };
  const together = checks.filter(({ of, isNegated }) => of === "custom" && !isNegated);
  together.sort((a, b) => Number(b.isMixed) - Number(a.isMixed));
  const alone = checks.filter((check) => !together.includes(check)).map((check) => [check]);
  for (const group of [...alone, together]) {
    const [first] = group;
    if (first) keepVisits(part, visits, await markEvents(part, [first, ...group.slice(1)], work), first.isNegated);
  }
  return { visits, events: await countedEvents(part, checks, work) };
}

async function testValues(
  values: readonly string[],
  { test }: Pick<Filter, "test">,
  work: Work,
  textOf?: (value: string) => string,
): Promise<Uint8Array> {
  const hits = new Uint8Array(values.length);
  // Reading JSON takes longer than looking through it.
  const steps = textOf ? 5 : 1;
  for (const [id, value] of values.entries()) {
    if (work.look(steps * (value.length + 10))) await work.rest();
    if (test(textOf ? textOf(value) : value)) hits[id] = 1;
  }
  return hits;
}

function flip(marks: Uint8Array): void {
  for (let at = 0; at < marks.length; at++) marks[at] = 1 - (marks[at] ?? 0);
}

interface Check {
  readonly of: "view" | "custom" | "any";
  readonly isNegated: boolean;
  readonly column: TextColumn;
  /** By the column's values: 1 where an event of the kind has one of the filter's values. */
  readonly hits: Uint8Array;
  /** Whether value 0, the empty text, is of both kinds of events, so that names must tell. */
  readonly isMixed: boolean;
}

async function checkOf({ events }: DayPart, subject: EventSubject, filter: Filter, work: Work): Promise<Check> {
  const [of, column] = columnOf(events, subject);
  if (!column) throw new Error("The part was read without its details");
  const textOf = subject.kind === "property" ? (props: string) => propertyOf(props, subject.name) : undefined;
  const hits = await testValues(column.values, filter, work, textOf);
  const isMixed = column === events.details?.props;
  // Custom events have no path, and page views have no name.
  if (of !== "any" && !isMixed) hits[0] = 0;
  return { of, isNegated: filter.isNegated, column, hits, isMixed };
}

type EventSubject = Exclude<Filter["subject"], { kind: "visit" }>;

function columnOf(events: DayPart["events"], subject: EventSubject): [Check["of"], TextColumn | undefined] {
  if (subject.kind === "property") return ["custom", events.details?.props];
  if (subject.dimension === "page") return ["view", events.pages];
  return subject.dimension === "event" ? ["custom", events.names] : ["any", events.details?.[subject.dimension]];
}

/** A property's value as text; empty for none. @param props JSON, or empty */
function propertyOf(props: string, name: string): string {
  if (props === "") return "";
  const values = JSON.parse(props) as Record<string, unknown>;
  return Object.hasOwn(values, name) ? String(values[name]) : "";
}

/** Marks the events with a value of each check. All checks are of one kind of event. */
async function markEvents(
  { events }: DayPart,
  [first, ...others]: readonly [Check, ...Check[]],
  work: Work,
): Promise<Uint8Array> {
  const marks = new Uint8Array(events.count);
  const { ids } = first.column;
  for (let event = 0; event < marks.length; event++) marks[event] = first.hits[ids[event] ?? 0] ?? 0;
  for (const { column, hits } of others) {
    for (let event = 0; event < marks.length; event++) {
      marks[event] = (marks[event] ?? 0) & (hits[column.ids[event] ?? 0] ?? 0);
    }
    if (work.spend(marks.length)) await work.rest();
  }
  const names = events.names.ids;
  if (first.isMixed) for (let event = 0; event < marks.length; event++) if (names[event] === 0) marks[event] = 0;
  if (work.spend(3 * marks.length)) await work.rest();
  return marks;
}

function keepVisits({ visits }: DayPart, kept: Uint8Array, marks: Uint8Array, withoutOne: boolean): void {
  const { firstEvent, count } = visits;
  for (let visit = 0; visit < count; visit++) {
    if (kept[visit] === 0) continue;
    const end = firstEvent[visit + 1] ?? 0;
    let event = firstEvent[visit] ?? 0;
    while (event < end && marks[event] === 0) event++;
    if (event < end === withoutOne) kept[visit] = 0;
  }
}

/** Marks the events that fulfil all filters of their kind: views those of `page`, custom events those of `event` and properties. */
async function countedEvents(
  { events }: DayPart,
  checks: readonly Check[],
  work: Work,
): Promise<Uint8Array | undefined> {
  const counting = checks.filter(({ of }) => of !== "any");
  if (counting.length === 0) return undefined;
  const names = events.names.ids;
  const counted = new Uint8Array(events.count).fill(1);
  for (const { column, hits, isNegated, isMixed } of counting) {
    const { ids } = column;
    const passes = hits.map((hit) => (isNegated ? 1 - hit : hit));
    // Without the value an event is of the other kind, which the filter leaves alone.
    if (!isMixed) passes[0] = 1;
    for (let event = 0; event < counted.length; event++) {
      if (passes[ids[event] ?? 0] === 0 && !(isMixed && names[event] === 0)) counted[event] = 0;
    }
    if (work.spend(2 * counted.length)) await work.rest();
  }
  return counted;
}
