import type { DayPart, PartNeeds, TextColumn } from "../columns/day-part.js";
import type { Work } from "../work.js";
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
  for (const check of checks) {
    if (together.includes(check)) continue;
    keepVisits(part, visits, await markEvents(part, [check], work), check.isNegated);
  }
  if (together.length > 0) keepVisits(part, visits, await markEvents(part, together, work), false);
  return { visits, events: await countedEvents(part, checks, work) };
}

/** 1 for each value that passes a filter's test, negated or not. */
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
async function markEvents({ events }: DayPart, [first, ...others]: readonly Check[], work: Work): Promise<Uint8Array> {
  const marks = new Uint8Array(events.count);
  if (!first) return marks;
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
