import type pg from "pg";
import { listsPerView } from "../../lists/lists.js";
import { type CopiedColumn, copyRows } from "./copy-rows.js";
import { eventRowBytes } from "./overflow.js";
import { gather, toArray } from "./record-events.query.js";
import { type DayChange, type StatChange, statFigures } from "./roll-up.js";
import {
  copyVisits,
  insertVisits,
  type KeyedVisit,
  removeVisits,
  updateVisits,
  type VisitKey,
} from "./visits.query.js";

/** The columns of `daily_stat` that count; durations may pass 2^31. */
const figureArrays = (first: number) =>
  statFigures.map((figure, index) => `$${first + index}::${figure === "visit_us" ? "bigint" : "int"}[]`).join(", ");
const figureNames = statFigures.join(", ");
const addFigures = (from: string) =>
  statFigures.map((figure) => `${figure} = daily_stat.${figure} + ${from}.${figure}`).join(", ");

/**
 * Adds to the figures by `daily_stat_pkey`, and to the sizes of the days' lists by `daily_size_pkey`. The sites are
 * locked, so no two writers change a row at once. A row names its site and day by their position: texts take long to read.
 */
const writeStatsSql = `
  WITH changed AS (
    INSERT INTO daily_stat (site_id, dimension, day, value, ${figureNames})
    SELECT ($1::uuid[])[place], dimension, ($2::date[])[place], value, ${figureNames}
    FROM unnest($3::int[], $4::text[], $5::text[], ${figureArrays(6)}) AS given (place, dimension, value, ${figureNames})
    ON CONFLICT (site_id, dimension, day, value) DO UPDATE SET ${addFigures("EXCLUDED")}
    RETURNING site_id, dimension, day, xmax = 0 AS is_new
  )
  INSERT INTO daily_size (site_id, day, dimension, "values")
  SELECT site_id, day, dimension, count(*) FROM changed WHERE is_new GROUP BY site_id, day, dimension
  ON CONFLICT (site_id, day, dimension) DO UPDATE SET "values" = daily_size."values" + EXCLUDED."values"`;

const dimensionsPerView = listsPerView.map(({ dimension }) => `'${dimension}'`).join(", ");

/**
 * Adds to the rows of pages and hosts that a visit names by hash, by `daily_stat_seen_idx`. They exist as long as it does, and
 * under the site's lock no row moves between the look-up of its `ctid` and the update.
 */
const writeUnnamedStatsSql = `
  UPDATE daily_stat SET ${addFigures("given")}
  FROM unnest($1::uuid[], $2::date[], $3::bigint[], ${figureArrays(4)}) AS given (site_id, day, hash, ${figureNames})
  CROSS JOIN LATERAL (
    SELECT ctid AS row_id FROM daily_stat AS named
    WHERE named.site_id = given.site_id AND named.day = given.day
      AND seen_hash(named.dimension, named.value) = given.hash AND named.dimension IN (${dimensionsPerView}) OFFSET 0
  ) AS found
  WHERE daily_stat.ctid = found.row_id`;

/** Stores visitors' counted values, by `daily_visitor_pkey`. Lists come as texts of arrays: `unnest` would flatten them. */
const writeVisitorsSql = `
  INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
  SELECT site_id, day, visitor, seen::bigint[], entry_at, entry_id, entry_path
  FROM unnest($1::uuid[], $2::date[], $3::bigint[], $4::text[], $5::timestamptz[], $6::uuid[], $7::text[])
    AS each (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
  ON CONFLICT (site_id, day, visitor) DO UPDATE
  SET seen = daily_visitor.seen || EXCLUDED.seen, entry_at = EXCLUDED.entry_at, entry_id = EXCLUDED.entry_id,
    entry_path = EXCLUDED.entry_path`;

/** Adds to custom events' occurrences by `daily_event_pkey`, and to the days' rows and bytes by `daily_size_pkey`. */
const writeEventCountsSql = `
  WITH changed AS (
    INSERT INTO daily_event (site_id, day, name, property, value, count)
    SELECT * FROM unnest($1::uuid[], $2::date[], $3::text[], $4::text[], $5::text[], $6::int[])
    ON CONFLICT (site_id, day, name, property, value) DO UPDATE SET count = daily_event.count + EXCLUDED.count
    RETURNING site_id, day, xmax = 0 AS is_new,
      octet_length(name) + octet_length(property) + octet_length(value) + ${eventRowBytes} AS bytes
  )
  INSERT INTO daily_size (site_id, day, dimension, "values")
  SELECT site_id, day, 'event', count(*) FROM changed WHERE is_new GROUP BY site_id, day
  UNION ALL
  SELECT site_id, day, 'event_bytes', sum(bytes) FROM changed WHERE is_new GROUP BY site_id, day
  ON CONFLICT (site_id, day, dimension) DO UPDATE SET "values" = daily_size."values" + EXCLUDED."values"`;

/** The caller has locked the sites and commits. Without copies, all statements are sent when it returns. */
export function writeRollups(client: pg.ClientBase, changes: readonly DayChange[], copies = false): Promise<unknown> {
  return gather(
    copies,
    () => writeStats(client, changes),
    () => writeUnnamedStats(client, changes),
    () => writeVisitors(client, changes, copies),
    () => writeVisits(client, changes, copies),
    () => writeEventCounts(client, changes),
  );
}

const nothing = Promise.resolve();

type Row = readonly (string | number)[];

function writeStats(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows: Row[] = [];
  for (const [index, { stats }] of changes.entries()) {
    for (const [dimension, values] of stats) {
      for (const [value, change] of values) {
        if (isChanged(change)) rows.push([index + 1, dimension, value, ...figuresOf(change)]);
      }
    }
  }
  if (rows.length === 0) return nothing;
  const values = [changes.map(({ siteId }) => siteId), changes.map(({ day }) => day), ...toArrays(rows)];
  return client.query({ name: "write-stats", text: writeStatsSql, values });
}

function writeUnnamedStats(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows: Row[] = [];
  for (const { siteId, day, unnamedStats } of changes) {
    for (const [hash, change] of unnamedStats)
      if (isChanged(change)) rows.push([siteId, day, hash, ...figuresOf(change)]);
  }
  if (rows.length === 0) return nothing;
  return client.query({ name: "write-unnamed-stats", text: writeUnnamedStatsSql, values: toArrays(rows) });
}

function figuresOf(change: StatChange): number[] {
  return statFigures.map((figure) => change[figure]);
}

function isChanged(change: StatChange): boolean {
  return statFigures.some((figure) => change[figure] !== 0);
}

function writeVisits(client: pg.ClientBase, changes: readonly DayChange[], copies: boolean): Promise<unknown> {
  const removed: VisitKey[] = [];
  const [added, grown]: [KeyedVisit[], KeyedVisit[]] = [[], []];
  for (const { siteId, day, visits } of changes) {
    for (const change of visits) {
      const { visitor } = change;
      for (const firstUs of change.removed) removed.push({ siteId, day, visitor, firstUs });
      for (const visit of change.added) added.push({ siteId, day, visitor, firstUs: visit.firstUs, visit });
      for (const visit of change.grown) grown.push({ siteId, day, visitor, firstUs: visit.firstUs, visit });
    }
  }
  return gather(
    copies,
    () => removeVisits(client, removed),
    () => (copies ? copyVisits : insertVisits)(client, added),
    () => updateVisits(client, grown),
  );
}

function writeVisitors(client: pg.ClientBase, changes: readonly DayChange[], copies: boolean): Promise<unknown> {
  const [added, changed]: [Row[], Row[]] = [[], []];
  for (const { siteId, day, visitors } of changes) {
    for (const [visitor, { isNew, newlySeen, entry, isEntryNew }] of visitors) {
      if (!isNew && newlySeen.length === 0 && !isEntryNew) continue;
      const row = [siteId, day, visitor, `{${newlySeen.join(",")}}`, entry.at, entry.id, entry.path] as const;
      (isNew ? added : changed).push(row);
    }
  }
  return gather(
    copies,
    () => (copies ? copyVisitors : upsertVisitors)(client, added),
    () => upsertVisitors(client, changed),
  );
}

const visitorColumns = [
  ["site_id", "uuid"],
  ["day", "date"],
  ["visitor", "bigint"],
  ["seen", "bigint[]"],
  ["entry_at", "timestamptz"],
  ["entry_id", "uuid"],
  ["entry_path", "text"],
] as const;

function upsertVisitors(client: pg.ClientBase, rows: readonly Row[]): Promise<unknown> {
  if (rows.length === 0) return nothing;
  return client.query({ name: "write-visitors", text: writeVisitorsSql, values: toArrays(rows) });
}

async function copyVisitors(client: pg.ClientBase, rows: readonly Row[]): Promise<void> {
  const columns = visitorColumns.map(([name, type], index): CopiedColumn<Row> => {
    return { name, type, read: (row) => row[index] ?? null };
  });
  if (rows.length > 0) await copyRows(client, { table: "daily_visitor", columns }, rows);
}

function writeEventCounts(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows: Row[] = [];
  for (const { siteId, day, events } of changes) {
    for (const [name, properties] of events) {
      for (const [property, values] of properties) {
        for (const [value, count] of values) rows.push([siteId, day, name, property, value, count]);
      }
    }
  }
  if (rows.length === 0) return nothing;
  return client.query({ name: "write-event-counts", text: writeEventCountsSql, values: toArrays(rows) });
}

/** Rows of one width as an array per column, for `unnest`. */
function toArrays(rows: readonly Row[]): string[] {
  return (rows[0] ?? []).map((_value, index) => toArray(rows.map((row) => row[index] ?? null)));
}
