import type { Buffer } from "node:buffer";
import { tryTransaction } from "@waymark/database";
import type pg from "pg";
import { listColumns } from "../../lists/lists.js";
import { copyBytes, eventRowColumns } from "./copy-rows.js";
import type { SiteEvent } from "./site-event.js";

const special = /["\\]/;

/**
 * The text of a Postgres array (documentation, 8.15.6); an empty one for a list of nulls, since `unnest` fills shorter arrays
 * up. The driver takes four times as long, which shows with millions of rows.
 */
export function toArray(values: readonly (string | number | null)[]): string {
  let text = "";
  let hasValue = false;
  for (const value of values) {
    text += text === "" ? "{" : ",";
    if (value === null) {
      text += "NULL";
      continue;
    }
    hasValue = true;
    if (typeof value === "number") text += value;
    else text += special.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`;
  }
  return hasValue ? `${text}}` : "{}";
}

/** Starts work together, so that a connection may send its statements in one round trip; or in turn. */
export function gather<Results extends readonly unknown[]>(
  inTurn: boolean,
  ...work: { readonly [Index in keyof Results]: () => Promise<Results[Index]> }
): Promise<Results> {
  return (inTurn ? doInTurn(work) : startAll(work)) as Promise<unknown> as Promise<Results>;
}

/** @throws at once an error of starting; the promises before it then belong to nobody */
function startAll(work: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  const started: Promise<unknown>[] = [];
  try {
    for (const start of work) started.push(start());
  } catch (error) {
    for (const each of started) each.catch(() => undefined);
    throw error;
  }
  return Promise.all(started);
}

async function doInTurn(work: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const start of work) results.push(await start());
  return results;
}

/** Months outside this range stay in the default partition: a wrong clock must not make partitions without end. */
const firstMonth = "1995-01";
const monthsAhead = 2;

/** Waits for other transactions, then pauses. */
const lockTimeoutMs = 1_000;
const retryMs = 60_000;

/** Makes missing partitions of months, oldest first (migrations, function `ensure_event_partition`). */
const ensureSql = `
  SELECT ensure_event_partition((month || '-01')::date) FROM unnest($1::text[]) AS months (month) ORDER BY month`;

/** Makes the partitions for events of months. While a transaction is in the way, events go into the default partition. */
export interface Partitions {
  ensure(days: Iterable<string>): Promise<void>;
}

/** Asks for each partition of `event` once per process. */
export function createPartitions(pool: pg.Pool, now: () => number = Date.now): Partitions {
  const known = new Set<string>();
  let pausedUntil = 0;
  return {
    async ensure(days) {
      const latest = new Date(now());
      latest.setUTCMonth(latest.getUTCMonth() + monthsAhead, 1);
      const last = latest.toISOString().slice(0, 7);
      const months = new Set([...days].map((day) => day.slice(0, 7)));
      const missing = [...months].filter((month) => !known.has(month) && month >= firstMonth && month <= last);
      if (missing.length === 0 || now() < pausedUntil) return;
      const make = (client: pg.PoolClient) => client.query(ensureSql, [missing]);
      if (await tryTransaction(pool, lockTimeoutMs, make)) for (const month of missing) known.add(month);
      else pausedUntil = now() + retryMs;
    },
  };
}

export interface SiteDay {
  readonly siteId: string;
  readonly day: string;
}

/**
 * Serialises the writers of each site until the transaction ends, so each reads visitors and sizes that the one before
 * committed. Writers of several sites take their locks in one order, so they never deadlock. Advisory locks, on no table.
 */
const lockSitesSql = `
  SELECT pg_advisory_xact_lock(key)
  FROM (SELECT DISTINCT hashtextextended('waymark events ' || id, 0) AS key FROM unnest($1::text[]) AS site (id) ORDER BY key) AS keys`;

export async function lockSites(client: pg.ClientBase, siteIds: readonly string[]): Promise<void> {
  await client.query({ name: "lock-sites", text: lockSitesSql, values: [siteIds] });
}

/** Takes the free ones of several sites' locks and waits for none. Advisory locks, on no table. */
const tryLockSitesSql = `
  SELECT id FROM (SELECT DISTINCT id FROM unnest($1::text[]) AS site (id)) AS sites
  WHERE pg_try_advisory_xact_lock(hashtextextended('waymark events ' || id, 0))`;

/** @returns the sites with a lock until the transaction ends */
export async function tryLockSites(client: pg.ClientBase, siteIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await client.query<{ id: string }>({
    name: "try-lock-sites",
    text: tryLockSitesSql,
    values: [siteIds],
  });
  return new Set(rows.map(({ id }) => id));
}

type EventColumn = readonly [name: string, type: string, read: (event: SiteEvent) => string | number | null];

const ownColumns: readonly EventColumn[] = [
  ["site_id", "uuid", ({ siteId }) => siteId],
  ["id", "uuid", ({ id }) => id],
  ["at", "timestamptz", ({ at }) => at],
  ["type", "text", ({ type }) => type],
  ["visitor", "bigint", ({ visitor }) => visitor],
  ["path", "text", ({ path }) => path],
  ["referrer", "text", ({ referrer }) => referrer],
  ["name", "text", ({ name }) => name],
  ["props", "json", ({ props }) => props && JSON.stringify(props)],
];

const eventColumns: readonly EventColumn[] = [
  ...ownColumns,
  ...listColumns
    .filter((column) => !ownColumns.some(([name]) => name === column))
    .map((column): EventColumn => [column, "text", (event) => event[column]]),
];

/** Columns that keep their defaults in most batches, which therefore leave them out. */
const rareColumns: readonly EventColumn[] = [
  ["revenue_amount", "numeric", ({ revenue }) => revenue?.amount ?? null],
  ["revenue_currency", "text", ({ revenue }) => revenue?.currency ?? null],
  ["is_interactive", "boolean", ({ isInteractive }) => (isInteractive ? 1 : 0)],
  ["engaged_ms", "int", ({ engagement }) => engagement?.engagedMs ?? null],
  ["scroll_depth", "smallint", ({ engagement }) => engagement?.scrollDepth ?? null],
];

function hasRareColumns({ revenue, isInteractive, engagement }: SiteEvent): boolean {
  return revenue !== null || !isInteractive || engagement !== null;
}

/** Inserts raw events without known ids, by `event_pkey` of the month's partition; returns the places of these. */
function insertOf(name: string, columns: readonly EventColumn[]) {
  const names = columns.map(([column]) => column).join(", ");
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  const text = `
  WITH given AS (
    SELECT * FROM unnest(${arrays}) WITH ORDINALITY AS each (${names}, position)
  ), recorded AS (
    INSERT INTO event (${names}) SELECT ${names} FROM given
    ON CONFLICT (site_id, id) DO NOTHING
    RETURNING site_id, id
  )
  SELECT position::int FROM given LEFT JOIN recorded USING (site_id, id) WHERE recorded.id IS NULL`;
  return { name, text, columns };
}

const insertUsual = insertOf("insert-events", eventColumns);
const insertRare = insertOf("insert-rare-events", [...eventColumns, ...rareColumns]);

/** Inserts events with different ids; returns the new ones in their order. */
export async function insertEvents(client: pg.ClientBase, events: readonly SiteEvent[]): Promise<readonly SiteEvent[]> {
  const { name, text, columns } = events.some(hasRareColumns) ? insertRare : insertUsual;
  const values = columns.map(([, , read]) => toArray(events.map(read)));
  const { rows } = await client.query<{ position: number }>({ name, text, values });
  if (rows.length === 0) return events;
  const duplicates = new Set(rows.map(({ position }) => position));
  return events.filter((_event, index) => !duplicates.has(index + 1));
}

export interface WrittenEvents {
  readonly bytes: Buffer;
  readonly ends: Uint32Array;
  /** Of each event its place among the rows. */
  readonly places: ReadonlyMap<SiteEvent, number>;
  /** The id that former releases gave an event: it begins as the id, and may end in another way. */
  formerIdOf(event: SiteEvent): string;
}

/** So many known events between a batch's first and last are looked up here. */
const maxKnownIds = 1_000;

/** The known events among some ids, in a range of `event_pkey`. */
const readKnownIdsSql = `
  SELECT id::text FROM event WHERE site_id = $1 AND id BETWEEN $2 AND $3 ORDER BY id LIMIT ${maxKnownIds + 1}`;

/** The known ones of some ids within bounds, by probes of `event_pkey`. */
const findKnownIdsSql =
  "SELECT id::text FROM event WHERE site_id = $1 AND id = ANY($2::uuid[]) AND id BETWEEN $3 AND $4";

/** As `insertEvents`, at less cost: under the site's lock no new event has a known id. */
export async function copyEvents(
  client: pg.ClientBase,
  events: readonly SiteEvent[],
  written: WrittenEvents,
): Promise<readonly SiteEvent[]> {
  const [first] = events;
  if (!first) return events;
  let [low, high] = [first.id, first.id];
  for (const { id } of events) {
    if (id < low) low = id;
    else if (id > high) high = id;
  }
  const { formerIdOf } = written;
  const bounds = [`${low.slice(0, 24)}000000000000`, `${high.slice(0, 24)}ffffffffffff`];
  const { rows } = await client.query<{ id: string }>(readKnownIdsSql, [first.siteId, ...bounds]);
  if (rows.length > maxKnownIds) {
    const formerIds = events.map(formerIdOf);
    const found = await client.query<{ id: string }>(findKnownIdsSql, [first.siteId, formerIds, ...bounds]);
    const formers = new Set(found.rows.map(({ id }) => id));
    return insertEvents(
      client,
      events.filter((event) => !formers.has(formerIdOf(event))),
    );
  }
  const known = new Set(rows.map(({ id }) => id));
  const isNew = (event: SiteEvent) => !known.has(event.id) && !known.has(formerIdOf(event));
  const fresh = known.size === 0 ? events : events.filter(isNew);
  const sold = fresh.filter(({ revenue }) => revenue !== null);
  if (sold.length > 0) await insertEvents(client, sold);
  const copied = sold.length === 0 ? fresh : fresh.filter(({ revenue }) => revenue === null);
  if (copied.length > 0) await copyBytes(client, { table: "event", columns: eventRowColumns }, rowsOf(copied, written));
  return fresh;
}

const chunkBytes = 262_144;

function* rowsOf(events: readonly SiteEvent[], { bytes, ends, places }: WrittenEvents): Generator<Buffer> {
  let [start, end] = [0, 0];
  for (const event of events) {
    const place = places.get(event) ?? 0;
    const first = ends[place - 1] ?? 0;
    if (first !== end || end - start >= chunkBytes) {
      if (end > start) yield bytes.subarray(start, end);
      start = first;
    }
    end = ends[place] ?? first;
  }
  yield bytes.subarray(start, end);
}

/** Where `readSizes` gives the number of a day's events, and `daily_size` that of the rebuilds that mended it. */
export const eventCount = "events recorded";
export const mendCount = "mended";

/** The numbers of values in days' lists, by ranges of `daily_size_pkey`, a dozen rows each, and of events, by `daily_stat_pkey`. */
const readSizesSql = `
  SELECT site_id AS "siteId", day::text, dimension, "values"
  FROM unnest($1::uuid[], $2::date[]) AS each (site_id, day)
  CROSS JOIN LATERAL (
    SELECT dimension, "values" FROM daily_size WHERE (site_id, day) = (each.site_id, each.day)
    UNION ALL
    SELECT '${eventCount}', pageviews + events + engagements FROM daily_stat
    WHERE (site_id, dimension, day, value) = (each.site_id, 'total', each.day, '')
  ) AS size`;

export async function readSizes(
  client: pg.ClientBase,
  days: readonly SiteDay[],
): Promise<Map<string, Map<string, number>>> {
  const { rows } = await client.query<SiteDay & { dimension: string; values: number }>({
    name: "read-sizes",
    text: readSizesSql,
    values: [days.map(({ siteId }) => siteId), days.map(({ day }) => day)],
  });
  const byDay = new Map<string, Map<string, number>>();
  for (const row of rows) {
    const key = keyOf(row);
    const sizes = byDay.get(key) ?? new Map<string, number>();
    sizes.set(row.dimension, row.values);
    byDay.set(key, sizes);
  }
  return byDay;
}

export function keyOf({ siteId, day }: SiteDay): string {
  return `${siteId} ${day}`;
}
