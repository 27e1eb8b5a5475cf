import { lists, otherValue } from "@waymark/lists";
import { maxValuesPerDay } from "./day-bounds.js";
import type { SiteEvent } from "./site-event.js";

/** Gives the value under which a value counts: itself, or `(other)` where the day's list is full. */
export type CountedAs = (dimension: string, value: string) => string;

/** A list that cannot take all new values of a batch. */
export interface NearlyFullList {
  readonly dimension: string;
  /** The batch's values. */
  readonly wanted: ReadonlySet<string>;
  /** New values that still fit. */
  readonly capacity: number;
}

/**
 * The lists that a batch may overfill. Most batches have none, so they need no look-up.
 * @param sizes the day's number of values per dimension
 */
export function findNearlyFullLists(
  events: readonly SiteEvent[],
  sizes: ReadonlyMap<string, number>,
): NearlyFullList[] {
  const views = events.filter(({ type }) => type === "pageview");
  return Object.values(lists).flatMap(({ dimension, column }) => {
    const capacity = Math.max(0, maxValuesPerDay - (sizes.get(dimension) ?? 0));
    // A batch has no more new values than page views.
    if (views.length <= capacity) return [];
    const wanted = new Set(views.map((event) => event[column]).filter((value) => value !== null));
    return wanted.size <= capacity ? [] : [{ dimension, wanted, capacity }];
  });
}

/**
 * Keeps a day's known values and as many new ones as fit; every further value counts as `(other)`.
 * @param listed the values that the day already has in these lists, by dimension
 */
export function createListOverflow(
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
