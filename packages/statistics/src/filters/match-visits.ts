import type { DayPart, Ids, PartNeeds, TextColumn } from "../columns/day-part.js";
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
  for (const check of checks) {
    if (!together.includes(check)) keepVisits(part, visits, markEvents(part, [check]), check.isNegated);
  }
  if (together.length > 0) keepVisits(part, visits, markEvents(part, together), false);
  return { visits, events: countedEvents(part, checks) };
}

/** A condition on single events. */
interface Check {
  readonly of: "view" | "custom" | "any";
  readonly isNegated: boolean;
  /** By the column's values: whether an event with it has one of the filter's values. */
  readonly hits: Uint8Array;
  readonly column: TextColumn;
}

function checkOf({ events }: DayPart, { subject, isNegated, test }: Filter): Check[] {
  if (subject.kind === "visit") return [];
  const ofColumn = (of: Check["of"], column: TextColumn | undefined, read: (value: string) => string): Check[] => {
    if (!column) throw new Error("The part was read without its details");
    return [{ of, isNegated, column, hits: Uint8Array.from(column.values, (value) => (test(read(value)) ? 1 : 0)) }];
  };
  const same = (value: string) => value;
  if (subject.kind === "property")
    return ofColumn("custom", events.details?.props, (props) => propertyOf(props, subject.name));
  if (subject.dimension === "host") return ofColumn("any", events.details?.host, same);
  return subject.dimension === "page" ? ofColumn("view", events.pages, same) : ofColumn("custom", events.names, same);
}

/** A property's value as text; empty for none. @param props JSON, or empty */
export function propertyOf(props: string, name: string): string {
  if (props === "") return "";
  const values = JSON.parse(props) as Record<string, unknown>;
  return Object.hasOwn(values, name) ? String(values[name]) : "";
}

/** Marks the events with a value of each check. All checks are of one kind of event. */
function markEvents({ events }: DayPart, checks: readonly Check[]): Uint8Array {
  const marks = new Uint8Array(events.count).fill(1);
  for (const { of, column, hits } of checks) {
    const { ids } = column;
    for (let event = 0; event < marks.length; event++)
      marks[event] = (marks[event] ?? 0) & (hits[ids[event] ?? 0] ?? 0);
    if (of !== "any") keepKind(marks, events.names.ids, of === "view");
  }
  return marks;
}

function keepKind(marks: Uint8Array, names: Ids, isOfView: boolean): void {
  for (let event = 0; event < marks.length; event++) if ((names[event] === 0) !== isOfView) marks[event] = 0;
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
  for (const { of, column, hits, isNegated } of counting) {
    const [isOfView, wanted] = [of === "view", isNegated ? 0 : 1];
    const { ids } = column;
    for (let event = 0; event < counted.length; event++) {
      if ((names[event] === 0) === isOfView && hits[ids[event] ?? 0] !== wanted) counted[event] = 0;
    }
  }
  return counted;
}
