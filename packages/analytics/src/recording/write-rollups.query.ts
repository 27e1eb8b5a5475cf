import type pg from "pg";
import { eventRowBytes } from "./day-bounds.js";
import type { DayChange } from "./roll-up.js";
import { toArray } from "./sql-array.js";

/**
 * Adds to page views and visitors by `daily_stat_pkey`, and to the sizes of the days' lists by `daily_size_pkey`. The sites are
 * locked, so no two writers change a row at once.
 */
const writeStatsSql = `
  WITH changed AS (
    INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::date[], $4::text[], $5::int[], $6::int[])
    ON CONFLICT (site_id, dimension, day, value) DO UPDATE
    SET visitors = daily_stat.visitors + EXCLUDED.visitors, pageviews = daily_stat.pageviews + EXCLUDED.pageviews
    RETURNING site_id, dimension, day, xmax = 0 AS is_new
  )
  INSERT INTO daily_size (site_id, day, dimension, "values")
  SELECT site_id, day, dimension, count(*) FROM changed WHERE is_new GROUP BY site_id, day, dimension
  ON CONFLICT (site_id, day, dimension) DO UPDATE SET "values" = daily_size."values" + EXCLUDED."values"`;

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

/** Adds changes to the rollups. The caller has locked the sites and commits. */
export async function writeRollups(client: pg.ClientBase, changes: readonly DayChange[]): Promise<void> {
  await writeStats(client, changes);
  await writeVisitors(client, changes);
  await writeEventCounts(client, changes);
}

async function writeStats(client: pg.ClientBase, changes: readonly DayChange[]): Promise<void> {
  const rows = new Columns(6);
  for (const { siteId, day, stats } of changes) {
    for (const [dimension, values] of stats) {
      for (const [value, { visitors, pageviews }] of values) {
        if (visitors !== 0 || pageviews !== 0) rows.add(siteId, dimension, day, value, visitors, pageviews);
      }
    }
  }
  if (rows.count > 0) await client.query({ name: "write-stats", text: writeStatsSql, values: rows.toArrays() });
}

async function writeVisitors(client: pg.ClientBase, changes: readonly DayChange[]): Promise<void> {
  const rows = new Columns(7);
  for (const { siteId, day, visitors } of changes) {
    for (const [visitor, { isNew, newlySeen, entry, isEntryNew }] of visitors) {
      if (!isNew && newlySeen.length === 0 && !isEntryNew) continue;
      rows.add(siteId, day, visitor, `{${newlySeen.join(",")}}`, entry.at, entry.id, entry.path);
    }
  }
  if (rows.count > 0) await client.query({ name: "write-visitors", text: writeVisitorsSql, values: rows.toArrays() });
}

async function writeEventCounts(client: pg.ClientBase, changes: readonly DayChange[]): Promise<void> {
  const rows = new Columns(6);
  for (const { siteId, day, events } of changes) {
    for (const [name, properties] of events) {
      for (const [property, values] of properties) {
        for (const [value, count] of values) rows.add(siteId, day, name, property, value, count);
      }
    }
  }
  if (rows.count > 0)
    await client.query({ name: "write-event-counts", text: writeEventCountsSql, values: rows.toArrays() });
}

/** Rows as one list per column, for `unnest`. */
class Columns {
  private readonly columns: (string | number | null)[][];

  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => []);
  }

  get count(): number {
    return this.columns[0]?.length ?? 0;
  }

  add(...row: readonly (string | number | null)[]): void {
    for (let index = 0; index < row.length; index++) this.columns[index]?.push(row[index] ?? null);
  }

  toArrays(): string[] {
    return this.columns.map(toArray);
  }
}
