import type pg from "pg";
import { lists, otherValue, type StatisticsList, viewLists, visitDimensionOf } from "../../lists/lists.js";
import type { SiteDay } from "./record-events.query.js";
import type { SiteEvent } from "./site-event.js";
import type { Visit, VisitorVisits } from "./visit.js";

/** Values of a list per site and UTC day; further ones count as `(other)`, so made-up paths cannot grow the rollups. */
export const maxValuesPerDay = 10_000;

/** Gives the value under which a value counts: itself, or `(other)` where the day's list is full. */
export type CountedAs = (dimension: string, value: string) => string;

/** A list that cannot take all new values of a batch. */
interface NearlyFullList {
  readonly dimension: string;
  /** The batch's values. */
  readonly wanted: ReadonlySet<string>;
  /** New values that still fit. */
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

/**
 * The lists that a batch may overfill. Most batches have none, so they need no look-up.
 * @param visits what the events make of visits: their figures move between values, also those of earlier batches
 * @param sizes the day's number of values per dimension
 */
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

/** Reads the values under which events and visits count in a dimension. */
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

/**
 * Keeps a day's known values and as many new ones as fit; every further value counts as `(other)`.
 * @param listed the values that the day already has in these lists, by dimension
 */
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
