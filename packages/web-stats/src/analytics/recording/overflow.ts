import { Buffer } from "node:buffer";
import type pg from "pg";
import { lists, otherValue, type StatisticsList, viewLists, visitDimensionOf } from "../../lists/lists.js";
import { cutToBytes } from "../attribution/source-classifier.js";
import type { SiteDay } from "./record-events.query.js";
import type { PropertyValue, SiteEvent } from "./site-event.js";
import type { Visit, VisitorVisits } from "./visit.js";

/** Values of a list per site and UTC day; further ones count as `(other)`, so made-up paths cannot grow the rollups. */
export const maxValuesPerDay = 10_000;

/** Gives the value under which a value counts: itself, or `(other)` where the day's list is full. */
export type CountedAs = (dimension: string, value: string) => string;

interface NearlyFullList {
  readonly dimension: string;
  readonly wanted: ReadonlySet<string>;
  readonly capacity: number;
}

/**
 * How a day's lists count the values of a batch: those that it would overfill count some as `(other)`.
 * @param visits what the events make of visits: their figures move between values, also those of earlier batches
 */
export async function boundLists(
  client: pg.ClientBase,
  { events, sizes, ...day }: SiteDay & { events: readonly SiteEvent[]; sizes: ReadonlyMap<string, number> },
  visits: readonly VisitorVisits[],
): Promise<CountedAs | undefined> {
  const lists = findNearlyFullLists(events, visits, sizes);
  if (lists.length === 0) return undefined;
  const listed = new Map<string, ReadonlySet<string>>();
  for (const { dimension, wanted } of lists) {
    listed.set(dimension, await readListed(client, day, dimension, [...wanted]));
  }
  return createListOverflow(lists, listed);
}

/** The given values that a day's list already has, by probes of `daily_stat_pkey`. */
const readListedSql = `
  SELECT value FROM daily_stat WHERE site_id = $1 AND dimension = $2 AND day = $3 AND value = ANY($4)`;

async function readListed(
  client: pg.ClientBase,
  { siteId, day }: SiteDay,
  dimension: string,
  values: readonly string[],
): Promise<Set<string>> {
  const { rows } = await client.query<{ value: string }>(readListedSql, [siteId, dimension, day, values]);
  return new Set(rows.map(({ value }) => value));
}

/** The lists that a batch may overfill: most batches have none, so they need no look-up. */
function findNearlyFullLists(
  events: readonly SiteEvent[],
  visits: readonly VisitorVisits[],
  sizes: ReadonlyMap<string, number>,
): NearlyFullList[] {
  return valueReaders.flatMap(({ dimension, ofEvent, ofVisit }) => {
    const capacity = Math.max(0, maxValuesPerDay - (sizes.get(dimension) ?? 0));
    // A batch has no more new values than events.
    if (events.length <= capacity) return [];
    const wanted = new Set<string>();
    const add = (value: string | null | undefined) => {
      if (value !== null && value !== undefined) wanted.add(value);
    };
    if (ofEvent) for (const event of events) if (event.type === "pageview") add(ofEvent(event));
    if (ofVisit) for (const { known, after } of visits) for (const visit of [...known, ...after]) add(ofVisit(visit));
    return wanted.size <= capacity ? [] : [{ dimension, wanted, capacity }];
  });
}

interface ValueReader {
  readonly dimension: string;
  readonly ofEvent?: (event: SiteEvent) => string | null;
  readonly ofVisit?: (visit: Visit) => string | null | undefined;
}

const valueReaders: readonly ValueReader[] = [
  ...viewLists.map(
    ({ dimension, column, isPerView }): ValueReader => ({
      dimension,
      ofEvent: (event) => event[column],
      ...(!isPerView && { ofVisit: ({ origin }: Visit) => origin[column] }),
    }),
  ),
  ...Object.values(lists).flatMap((list) => readersOfVisits(list)),
];

function readersOfVisits(list: StatisticsList): ValueReader[] {
  if (!list.visitPage) return [];
  const path = list.visitPage === "entry" ? "entryPath" : "exitPath";
  const ofVisits = { dimension: visitDimensionOf(list), ofVisit: (visit: Visit) => visit[path] };
  // The other dimension has the first page of each visitor's day.
  return list.visitDimension ? [ofVisits, { dimension: list.dimension, ofEvent: ({ path }) => path }] : [ofVisits];
}

function createListOverflow(
  nearlyFull: readonly NearlyFullList[],
  listed: ReadonlyMap<string, ReadonlySet<string>>,
): CountedAs {
  const kept = new Map(
    nearlyFull.map(({ dimension, wanted, capacity }) => {
      const known = listed.get(dimension) ?? new Set();
      const fresh = [...wanted].filter((value) => !known.has(value) && value !== otherValue).slice(0, capacity);
      return [dimension, new Set([...known, ...fresh])];
    }),
  );
  return (dimension, value) => {
    const values = kept.get(dimension);
    return !values || values.has(value) ? value : otherValue;
  };
}

/** Bytes of `daily_event` per site and UTC day; the rest counts as `(other)`, in rows that take about as much again. */
export const maxEventBytesPerDay = 512 * 1_024;

/** Bytes of a row beside its texts, in a table and in an answer. */
export const eventRowBytes = 32;

/** Bytes of UTF-8 by which a property's value counts; a longer value counts by its start with an ellipsis. */
const maxRolledBytes = 200;
const ellipsis = "…";

/** The text under which a property's value counts. The database function `rolled_value` gives the same. */
export function rolledValue(value: PropertyValue): string {
  const text = String(value);
  if (text.length * 3 <= maxRolledBytes || Buffer.byteLength(text) <= maxRolledBytes) return text;
  return cutToBytes(text, maxRolledBytes - Buffer.byteLength(ellipsis)) + ellipsis;
}

export function eventRowCost(name: string, property: string, value: string): number {
  return eventRowBytes + Buffer.byteLength(name) + Buffer.byteLength(property) + Buffer.byteLength(value);
}

/** Occurrences of custom events by name, property (empty for the event itself) and value. */
export type Occurrences = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>;

export type OpenOccurrences = Map<string, Map<string, Map<string, number>>>;

interface ListedEvents {
  /** Bytes that new rows may take. */
  readonly capacityBytes: number;
  has(name: string, property: string, value: string): boolean;
  hasProperty(name: string, property: string): boolean;
}

/**
 * Counts occurrences beyond a day's capacity as `(other)`: first as another value of a known property, else as another property of a
 * known event, else as another event without properties. So a full day grows by at most a row per known property.
 */
export function overflowEvents(occurrences: Occurrences, listed: ListedEvents): Occurrences {
  const counted: OpenOccurrences = new Map();
  let capacityBytes = listed.capacityBytes;
  const knows = (name: string, property: string) =>
    listed.hasProperty(name, property) || counted.get(name)?.has(property) === true;
  for (const [name, properties] of occurrences) {
    for (const [property, values] of properties) {
      for (const [value, count] of values) {
        const isListed = listed.has(name, property, value) || counted.get(name)?.get(property)?.has(value) === true;
        const cost = isListed ? 0 : eventRowCost(name, property, value);
        if (cost <= capacityBytes) {
          capacityBytes -= cost;
          addOccurrences(counted, [name, property, value], count);
        } else if (property !== "" && knows(name, property))
          addOccurrences(counted, [name, property, otherValue], count);
        else if (property !== "" && knows(name, "")) addOccurrences(counted, [name, otherValue, otherValue], count);
        else if (property === "") addOccurrences(counted, [otherValue, "", ""], count);
      }
    }
  }
  return counted;
}

export function addOccurrences(
  occurrences: OpenOccurrences,
  [name, property, value]: readonly [name: string, property: string, value: string],
  count: number,
): void {
  const properties = occurrences.get(name) ?? new Map<string, Map<string, number>>();
  const values = properties.get(property) ?? new Map<string, number>();
  values.set(value, (values.get(value) ?? 0) + count);
  properties.set(property, values);
  occurrences.set(name, properties);
}

/** A day's custom events, by one range of `daily_event_pkey`. Runs only on a nearly full day, and reads what the bound allows. */
const readListedEventsSql = "SELECT name, property, value FROM daily_event WHERE site_id = $1 AND day = $2";

async function readListedEvents(client: pg.ClientBase, { siteId, day }: SiteDay) {
  const { rows } = await client.query<{ name: string; property: string; value: string }>(readListedEventsSql, [
    siteId,
    day,
  ]);
  const listed = new Set(rows.map(({ name, property, value }) => JSON.stringify([name, property, value])));
  const properties = new Set(rows.map(({ name, property }) => JSON.stringify([name, property])));
  return {
    has: (name: string, property: string, value: string) => listed.has(JSON.stringify([name, property, value])),
    hasProperty: (name: string, property: string) => properties.has(JSON.stringify([name, property])),
  };
}

/** Stores the bytes of a day's custom events, by a range of `daily_event_pkey`. It runs once for a day. */
const countEventBytesSql = `
  INSERT INTO daily_size (site_id, day, dimension, "values")
  SELECT $1::uuid, $2::date, 'event_bytes',
    COALESCE(sum(octet_length(name) + octet_length(property) + octet_length(value) + ${eventRowBytes}), 0)
  FROM daily_event WHERE site_id = $1 AND day = $2
  RETURNING "values"`;

async function countEventBytes(client: pg.ClientBase, { siteId, day }: SiteDay): Promise<number> {
  const { rows } = await client.query<{ values: number }>(countEventBytesSql, [siteId, day]);
  return rows[0]?.values ?? 0;
}

/** Counts the occurrences beyond the day's bytes as `(other)`. @param sizes of the day's lists */
export async function boundEvents<Change extends SiteDay & { readonly events: Occurrences }>(
  client: pg.ClientBase,
  change: Change,
  sizes: ReadonlyMap<string, number>,
): Promise<Change> {
  if (change.events.size === 0) return change;
  // Days older than the bound of bytes have a number of rows only.
  const isMissing = !sizes.has("event_bytes") && sizes.has("event");
  const size = isMissing ? await countEventBytes(client, change) : (sizes.get("event_bytes") ?? 0);
  let bytes = 0;
  for (const [name, properties] of change.events) {
    for (const [property, values] of properties) {
      for (const value of values.keys()) bytes += eventRowCost(name, property, value);
    }
  }
  const capacityBytes = Math.max(0, maxEventBytesPerDay - size);
  if (bytes <= capacityBytes) return change;
  const listed = await readListedEvents(client, change);
  return { ...change, events: overflowEvents(change.events, { capacityBytes, ...listed }) };
}
