import { Buffer } from "node:buffer";
import { cutToBytes } from "../attribution/utf8.js";
import { dimensions, type ListName, otherValue, type PropertyValue, type SiteEvent, valueIn } from "./site-event.js";

/**
 * Values that a day's list holds at most, per site and dimension; further ones count as `(other)`. A site with more pages than
 * that has readers on them all within a day; a script that makes up paths would otherwise grow the rollups without end.
 */
export const maxValuesPerDay = 10_000;

/**
 * Bytes of `daily_event` of a site and day at most, as `eventRowCost` counts them; the rest counts as `(other)`. The rows that
 * count it, one for each known property, take at most about as much again.
 */
export const maxEventBytesPerDay = 512 * 1_024;

/** What a row takes beside its texts, in a table and in an answer. */
export const eventRowBytes = 32;

/** Bytes of UTF-8 of a property's value that counts as itself; the start of a longer one counts, with an ellipsis. */
const maxRolledBytes = 200;
const ellipsis = "…";

/** What a property's value counts as; the database's function `rolled_value` says the same. */
export function rolledValue(value: PropertyValue): string {
  const text = String(value);
  if (text.length * 3 <= maxRolledBytes || Buffer.byteLength(text) <= maxRolledBytes) return text;
  return cutToBytes(text, maxRolledBytes - Buffer.byteLength(ellipsis)) + ellipsis;
}

/** What a row of `daily_event` takes of a day's bytes. */
export function eventRowCost(name: string, property: string, value: string): number {
  return eventRowBytes + Buffer.byteLength(name) + Buffer.byteLength(property) + Buffer.byteLength(value);
}

/** A list, by its dimension, that new values may not all fit into. */
export interface TightList {
  readonly dimension: string;
  /** The values that the batch wants to count in it. */
  readonly wanted: ReadonlySet<string>;
  /** New values that it has room for. */
  readonly room: number;
}

/**
 * The lists that a batch may overfill. Most batches have none, and then nothing needs to be looked up.
 * @param sizes values that the day has per dimension
 */
export function findTightLists(
  events: readonly SiteEvent[],
  sizes: ReadonlyMap<string, number>,
  maxValues: number = maxValuesPerDay,
): TightList[] {
  const views = events.filter(({ type }) => type === "pageview");
  const lists: readonly ListName[] = [...dimensions, "entry"];
  return lists.flatMap((dimension) => {
    const room = Math.max(0, maxValues - (sizes.get(dimension) ?? 0));
    // A batch has no more new values than page views.
    if (views.length <= room) return [];
    const wanted = new Set(views.map((event) => valueIn(event, dimension)).filter((value) => value !== null));
    return wanted.size <= room ? [] : [{ dimension, wanted, room }];
  });
}

/** The function that folds a batch's values. `listed` are those of the tight lists that the day has already. */
export function createFold(tight: readonly TightList[], listed: ReadonlyMap<string, ReadonlySet<string>>) {
  const kept = new Map(
    tight.map(({ dimension, wanted, room }) => {
      const there = listed.get(dimension) ?? new Set();
      const fresh = [...wanted].filter((value) => !there.has(value) && value !== otherValue).slice(0, room);
      return [dimension, new Set([...there, ...fresh])];
    }),
  );
  return (dimension: string, value: string): string => {
    const values = kept.get(dimension);
    return !values || values.has(value) ? value : otherValue;
  };
}
