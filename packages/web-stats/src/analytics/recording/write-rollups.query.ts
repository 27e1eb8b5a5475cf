import type pg from "pg";
import { listsPerView } from "../../lists/lists.js";
import { type CopiedColumn, copyRows } from "./copy-rows.js";
import { eventRowBytes } from "./overflow.js";
import { gather, toArray } from "./record-events.query.js";
import type { DayChange } from "./roll-up.js";
import { type StatChange, statFigures } from "./roll-up.js";
import { copyVisits, insertVisits, removeVisits, updateVisits, type VisitRows } from "./visits.query.js";

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

/**
 * Adds changes to the rollups. The caller has locked the sites and commits. Without copies, this has sent all statements when it
 * returns, or throws at once.
 * @param copies new visitors and visits by COPY
 */
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

function writeStats(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows = new Columns(3 + statFigures.length);
  for (const [index, { stats }] of changes.entries()) {
    for (const [dimension, values] of stats) {
      for (const [value, change] of values) {
        if (isChanged(change)) rows.add(index + 1, dimension, value, ...figuresOf(change));
      }
    }
  }
  if (rows.count === 0) return nothing;
  const values = [changes.map(({ siteId }) => siteId), changes.map(({ day }) => day), ...rows.toArrays()];
  return client.query({ name: "write-stats", text: writeStatsSql, values });
}

function writeUnnamedStats(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows = new Columns(3 + statFigures.length);
  for (const { siteId, day, unnamedStats } of changes) {
    for (const [hash, change] of unnamedStats) if (isChanged(change)) rows.add(siteId, day, hash, ...figuresOf(change));
  }
  if (rows.count === 0) return nothing;
  return client.query({ name: "write-unnamed-stats", text: writeUnnamedStatsSql, values: rows.toArrays() });
}

function figuresOf(change: StatChange): number[] {
  return statFigures.map((figure) => change[figure]);
}

function isChanged(change: StatChange): boolean {
  return statFigures.some((figure) => change[figure] !== 0);
}

function writeVisits(client: pg.ClientBase, changes: readonly DayChange[], copies: boolean): Promise<unknown> {
  const noRows = (): VisitRows => ({ siteIds: [], days: [], visitors: [], firstUs: [] });
  const [removed, added, grown] = [noRows(), noRows(), noRows()];
  for (const day of changes) {
    for (const change of day.visits) {
      const add = (rows: VisitRows, firstUs: number) => {
        rows.siteIds.push(day.siteId);
        rows.days.push(day.day);
        rows.visitors.push(change.visitor);
        rows.firstUs.push(firstUs);
      };
      for (const firstUs of change.removed) add(removed, firstUs);
      for (const { firstUs } of change.added) add(added, firstUs);
      for (const { firstUs } of change.grown) add(grown, firstUs);
    }
  }
  const visits = changes.flatMap((day) => day.visits);
  const addedVisits = visits.flatMap((change) => change.added);
  const grownVisits = visits.flatMap((change) => change.grown);
  return gather(
    copies,
    () => removeVisits(client, removed),
    () => (copies ? copyVisits : insertVisits)(client, added, addedVisits),
    () => updateVisits(client, grown, grownVisits),
  );
}

function writeVisitors(client: pg.ClientBase, changes: readonly DayChange[], copies: boolean): Promise<unknown> {
  const [added, changed]: [VisitorRow[], VisitorRow[]] = [[], []];
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

type VisitorRow = readonly string[];

function upsertVisitors(client: pg.ClientBase, rows: readonly VisitorRow[]): Promise<unknown> {
  if (rows.length === 0) return nothing;
  const values = visitorColumns.map((_column, index) => toArray(rows.map((row) => row[index] ?? null)));
  return client.query({ name: "write-visitors", text: writeVisitorsSql, values });
}

async function copyVisitors(client: pg.ClientBase, rows: readonly VisitorRow[]): Promise<void> {
  const columns = visitorColumns.map(([name, type], index): CopiedColumn<VisitorRow> => {
    return { name, type, read: (row) => row[index] ?? null };
  });
  if (rows.length > 0) await copyRows(client, { table: "daily_visitor", columns }, rows);
}

function writeEventCounts(client: pg.ClientBase, changes: readonly DayChange[]): Promise<unknown> {
  const rows = new Columns(6);
  for (const { siteId, day, events } of changes) {
    for (const [name, properties] of events) {
      for (const [property, values] of properties) {
        for (const [value, count] of values) rows.add(siteId, day, name, property, value, count);
      }
    }
  }
  if (rows.count === 0) return nothing;
  return client.query({ name: "write-event-counts", text: writeEventCountsSql, values: rows.toArrays() });
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
