import type { DayPart, PartNeeds, TextColumn } from "../columns/day-part.js";
import type { Filter } from "./filter.js";

/** What filters make of a part. */
export interface Match {
  /** 1 for each visit that matches. */
  readonly visits: Uint8Array;
  /** 1 for each event that counts: page views by filters of `page`, custom events by those of `event` and properties. */
  readonly events: Uint8Array | undefined;
}

/** The blocks that filters read. */
export function needsOf(filters: readonly Filter[]): PartNeeds {
  const needsDetails = ({ subject }: Filter) =>
    subject.kind === "property" || (subject.kind === "event" && subject.dimension === "host");
  return { details: filters.some(needsDetails) };
}

/**
 * Finds the visits for which all filters hold. An attribute is the visit's own. A filter of `page`, `host`, `event` or a
 * property holds when one of the visit's views or events fulfils it, a negated one when none has the value. Filters of events and
 * properties that are not negated must hold for one and the same event.
 */
export function matchVisits(part: DayPart, filters: readonly Filter[]): Match {
  const visits = new Uint8Array(part.visits.count).fill(1);
  for (const { subject, isNegated, test } of filters) {
    if (subject.kind !== "visit") continue;
    const { values, ids } = part.visits.dimensions[subject.dimension];
    const passes = Uint8Array.from(values, (value) => (test(value) === isNegated ? 0 : 1));
    for (let visit = 0; visit < visits.length; visit++)
      visits[visit] = (visits[visit] ?? 0) & (passes[ids[visit] ?? 0] ?? 0);
  }
  const checks = filters.flatMap((filter) => checkOf(part, filter));
  if (checks.length === 0) return { visits, events: undefined };
  const together = checks.filter(({ of, isNegated }) => of === "custom" && !isNegated);
  together.sort((a, b) => Number(b.isMixed) - Number(a.isMixed));
  for (const check of checks) {
    if (!together.includes(check)) keepVisits(part, visits, markEvents(part, [check]), check.isNegated);
  }
  if (together.length > 0) keepVisits(part, visits, markEvents(part, together), false);
  return { visits, events: countedEvents(part, checks) };
}

/** Leaves the visits that began before a moment of the day, and their events before it. @param before milliseconds since midnight */
export function matchBefore({ visits, events }: DayPart, match: Match, before: number): Match {
  const { times } = events;
  if (!times) throw new Error("The part was read without its times");
  const early = Uint8Array.from(times, (time) => (time < before ? 1 : 0));
  return {
    visits: match.visits.map((matches, visit) => matches & (early[visits.firstEvent[visit] ?? 0] ?? 0)),
    events: match.events?.map((counts, event) => counts & (early[event] ?? 0)) ?? early,
  };
}

/** A condition on single events. */
interface Check {
  readonly of: "view" | "custom" | "any";
  readonly isNegated: boolean;
  readonly column: TextColumn;
  /** By the column's values: 1 where an event of the kind has one of the filter's values. */
  readonly hits: Uint8Array;
  /** Whether value 0, the empty text, is of both kinds of events, so that names must tell. */
  readonly isMixed: boolean;
}

function checkOf({ events }: DayPart, { subject, isNegated, test }: Filter): Check[] {
  if (subject.kind === "visit") return [];
  const read = (of: Check["of"], column: TextColumn | undefined, textOf = (text: string) => text): Check[] => {
    if (!column) throw new Error("The part was read without its details");
    const hits = Uint8Array.from(column.values, (text) => (test(textOf(text)) ? 1 : 0));
    const isMixed = column === events.details?.props;
    // Custom events have no path, and page views have no name.
    if (of !== "any" && !isMixed) hits[0] = 0;
    return [{ of, isNegated, column, hits, isMixed }];
  };
  if (subject.kind === "property") {
    return read("custom", events.details?.props, (props) => propertyOf(props, subject.name));
  }
  if (subject.dimension === "host") return read("any", events.details?.host);
  return subject.dimension === "page" ? read("view", events.pages) : read("custom", events.names);
}

/** A property's value as text; empty for none. @param props JSON, or empty */
function propertyOf(props: string, name: string): string {
  if (props === "") return "";
  const values = JSON.parse(props) as Record<string, unknown>;
  return Object.hasOwn(values, name) ? String(values[name]) : "";
}

/** Marks the events with a value of each check. All checks are of one kind of event. */
function markEvents({ events }: DayPart, [first, ...others]: readonly Check[]): Uint8Array {
  const marks = new Uint8Array(events.count);
  if (!first) return marks;
  const { ids } = first.column;
  for (let event = 0; event < marks.length; event++) marks[event] = first.hits[ids[event] ?? 0] ?? 0;
  for (const { column, hits } of others) {
    for (let event = 0; event < marks.length; event++) {
      marks[event] = (marks[event] ?? 0) & (hits[column.ids[event] ?? 0] ?? 0);
    }
  }
  const names = events.names.ids;
  if (first.isMixed) for (let event = 0; event < marks.length; event++) if (names[event] === 0) marks[event] = 0;
  return marks;
}

/** Leaves the visits with a marked event, or those without one. */
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
function countedEvents({ events }: DayPart, checks: readonly Check[]): Uint8Array | undefined {
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
  }
  return counted;
}
