import type { Buffer } from "node:buffer";
import { inTransaction, withConnection } from "@waymark/database";
import { textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { createSourceClassifier } from "../attribution/source-classifier.js";
import type { Reading } from "../formats/format.js";
import { openCsv } from "../formats/format.js";
import {
  type Classify,
  type DayFigures,
  type DayOccurrence,
  type DayStat,
  type PlausibleTable,
  plausibleTable,
  readDay,
} from "../formats/plausible-export.js";
import {
  addOccurrences,
  eventRowBytes,
  maxEventBytesPerDay,
  maxValuesPerDay,
  type OpenOccurrences,
  overflowEvents,
  rolledValue,
} from "../recording/overflow.js";
import { type StatChange, statFigures } from "../recording/roll-up.js";
import { writeRollups } from "../recording/write-rollups.query.js";
import { joinRecords, readLines } from "./lines.js";
import { lockSite } from "./write-batches.js";

const second = 1_000_000;

const read: Readonly<Record<keyof StatChange, (stat: DayStat) => number>> = {
  visitors: ({ visitors }) => visitors,
  pageviews: ({ pageviews }) => pageviews,
  visits: ({ visits }) => visits,
  bounces: ({ bounces }) => bounces,
  visit_us: ({ visitSeconds }) => visitSeconds * second,
  visit_views: ({ visitViews }) => visitViews,
  events: ({ events }) => events,
  engagements: () => 0,
};
const figures = statFigures.join(", ");
const sums = statFigures.map((figure) => `sum(${figure}) AS ${figure}`).join(", ");

/** The import's sums, on its own connection, so memory does not grow with the export. Its files need no order. */
const createTablesSql = `
  CREATE TEMP TABLE imported_stat (
    day date, dimension text COLLATE "C", value text COLLATE "C", ${statFigures.map((figure) => `${figure} bigint`).join(", ")},
    PRIMARY KEY (day, dimension, value));
  CREATE TEMP TABLE imported_event (
    day date, name text COLLATE "C", property text COLLATE "C", value text COLLATE "C", count bigint,
    PRIMARY KEY (day, name, property, value))`;

const dropTablesSql = "DROP TABLE IF EXISTS pg_temp.imported_stat, pg_temp.imported_event";

/** Adds rows, several of one value too, by the temporary tables' primary keys. */
const addStatsSql = `
  INSERT INTO imported_stat (day, dimension, value, ${figures})
  SELECT day, dimension, value, ${sums}
  FROM unnest($1::date[], $2::text[], $3::text[], ${statFigures.map((_figure, index) => `$${index + 4}::bigint[]`).join(", ")})
    AS each (day, dimension, value, ${figures})
  GROUP BY day, dimension, value
  ON CONFLICT (day, dimension, value) DO UPDATE
  SET ${statFigures.map((figure) => `${figure} = imported_stat.${figure} + EXCLUDED.${figure}`).join(", ")}`;

const addEventsSql = `
  INSERT INTO imported_event (day, name, property, value, count)
  SELECT day, name, property, value, sum(count)
  FROM unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::int[]) AS each (day, name, property, value, count)
  GROUP BY day, name, property, value
  ON CONFLICT (day, name, property, value) DO UPDATE SET count = imported_event.count + EXCLUDED.count`;

interface SumRows {
  readonly stats: readonly (DayStat & { day: string })[];
  readonly events: readonly (DayOccurrence & { day: string })[];
}

async function addToSums(client: pg.ClientBase, { stats, events }: SumRows): Promise<void> {
  if (stats.length > 0) {
    const values = [
      stats.map(({ day }) => day),
      stats.map(({ dimension }) => dimension),
      stats.map(({ value }) => value),
      ...statFigures.map((figure) => stats.map(read[figure])),
    ];
    await client.query(addStatsSql, values);
  }
  if (events.length > 0) {
    const values = [
      events.map(({ day }) => day),
      events.map(({ name }) => name),
      events.map(({ property }) => property),
      events.map(({ value }) => value),
      events.map(({ count }) => count),
    ];
    await client.query(addEventsSql, values);
  }
}

const listDaysSql =
  "SELECT day::text FROM (SELECT day FROM imported_stat UNION SELECT day FROM imported_event) AS days ORDER BY day";

async function listSumDays(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ day: string }>(listDaysSql);
  return rows.map(({ day }) => day);
}

/** More than a row of `daily_stat` holds of it is kept at the most that it holds; numbers beyond 2^53 are no figures. */
const bounded = (figure: keyof StatChange) =>
  figure === "visit_us" ? `LEAST(sum(${figure}), 9007199254740991)::float8` : `LEAST(sum(${figure}), 2147483647)::int`;

/** A day's sums within the bounds of a list: the greatest values, and the rest as `(other)`. A range of a primary key. */
const readStatsSql = `
  SELECT dimension, CASE WHEN place <= ${maxValuesPerDay} THEN value ELSE '${otherValue}' END AS value,
    ${statFigures.map((figure) => `${bounded(figure)} AS ${figure}`).join(", ")}
  FROM (
    SELECT *, row_number() OVER (PARTITION BY dimension ORDER BY visitors + pageviews DESC, value) AS place
    FROM imported_stat WHERE day = $1
  ) AS placed
  GROUP BY 1, 2`;

interface SumRow extends StatChange {
  readonly dimension: string;
  readonly value: string;
}

/** A day's greatest occurrences, events before their properties, no more than a day may hold. */
const readEventsSql = `
  SELECT name, property, value, LEAST(count, 2147483647)::int AS count FROM imported_event WHERE day = $1
  ORDER BY property <> '', count DESC, name, property, value LIMIT ${Math.ceil(maxEventBytesPerDay / eventRowBytes)}`;

async function readSums(client: pg.ClientBase, day: string): Promise<{ stats: SumRow[]; events: DayOccurrence[] }> {
  const stats = await client.query<SumRow>(readStatsSql, [day]);
  const events = await client.query<DayOccurrence>(readEventsSql, [day]);
  return { stats: stats.rows, events: events.rows };
}

/**
 * Marks a day without any figures as one of another tool's; none is marked where it has some. By primary keys. The caller has
 * locked the site.
 */
const markDaySql = `
  INSERT INTO imported_day (site_id, day, source)
  SELECT $1, $2, 'plausible'
  WHERE NOT EXISTS (SELECT FROM daily_stat WHERE site_id = $1 AND dimension = 'total' AND day = $2)
    AND NOT EXISTS (SELECT FROM daily_event WHERE site_id = $1 AND day = $2)
  ON CONFLICT (site_id, day) DO NOTHING`;

const maxRecordBytes = 65_536;
const batchRecords = 1_000;

interface RollupImportOptions {
  pool: pg.Pool;
  site: { id: string; domain: string };
  /** The files of Plausible's export, by their names. Files that count nothing are not read. */
  files: readonly { readonly name: string; open(): AsyncIterable<Buffer> }[];
  onProgress?(progress: Readonly<RollupImportProgress>): void;
  onReject?(rejection: { line: number; problem: string }): void;
  /** Stops between records, and between days. */
  signal?: AbortSignal;
}

interface RollupImportProgress {
  lines: number;
  bytes: number;
  imported: number;
  rejected: number;
  /** Days that had figures already, and stay as they were. */
  duplicates: number;
}

/**
 * Records the daily figures of Plausible's export. A day of it becomes a day of rollups without events, unless the site has
 * figures of that day already. A rebuild leaves such a day alone, and no retention removes it. Days are recorded whole, one by
 * one, so an import that stops goes on when run again.
 */
export async function importRollups(options: RollupImportOptions): Promise<RollupImportProgress> {
  const { pool, site, files, signal } = options;
  const progress: RollupImportProgress = { lines: 0, bytes: 0, imported: 0, rejected: 0, duplicates: 0 };
  const classify = createSourceClassifier({ referrers: loadReferrers(), siteDomain: site.domain });
  await withConnection(pool, async (client) => {
    await client.query(dropTablesSql);
    await client.query(createTablesSql);
    for (const { name, open } of files) {
      const table = plausibleTable(name);
      if (table) await addFile(client, options, progress, { name, table, bytes: open(), classify });
    }
    for (const day of await listSumDays(client)) {
      signal?.throwIfAborted();
      if (await recordDay(client, site.id, day)) progress.imported++;
      else progress.duplicates++;
      options.onProgress?.({ ...progress });
    }
    await client.query(dropTablesSql);
  });
  return progress;
}

interface File {
  readonly name: string;
  readonly table: PlausibleTable;
  readonly bytes: AsyncIterable<Buffer>;
  readonly classify: Classify;
}

async function addFile(
  client: pg.ClientBase,
  options: RollupImportOptions,
  progress: RollupImportProgress,
  { name, table, bytes, classify }: File,
): Promise<void> {
  const read = openCsv(table.required, (field): Reading => {
    const day = readDay(field("date"));
    if (!day) return { problem: "date: Must be a day such as 2026-05-17, from 1970 on" };
    const figures = table.read(field, classify);
    return "problem" in figures ? figures : { fields: { day, ...figures } };
  });
  let batch: DayFigures[] = [];
  const write = async () => {
    const figures = batch;
    batch = [];
    await addToSums(client, {
      stats: figures.flatMap(({ day, stats }) => stats.map((each) => ({ day, ...each }))),
      events: figures.flatMap(({ day, events }) =>
        events.map((each) => ({ ...each, day, value: rolledValue(each.value) })),
      ),
    });
    options.onProgress?.({ ...progress });
  };
  for await (const lines of joinRecords(readLines(counted(bytes, options, progress), maxRecordBytes), maxRecordBytes)) {
    for (const line of lines) {
      progress.lines++;
      const reading = "problem" in line ? line : (unstorable(line.text) ?? read(line.text));
      if (reading === null) continue;
      if ("fields" in reading) batch.push(reading.fields as DayFigures);
      else if ("problem" in reading) {
        progress.rejected++;
        options.onReject?.({ line: line.number, problem: `${name}: ${reading.problem}` });
      }
      if (batch.length >= batchRecords) await write();
    }
  }
  await write();
}

function unstorable(text: string): { problem: string } | undefined {
  const problem = textProblem(text);
  return problem === undefined ? undefined : { problem };
}

async function* counted(
  bytes: AsyncIterable<Buffer>,
  { signal }: RollupImportOptions,
  progress: RollupImportProgress,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    signal?.throwIfAborted();
    progress.bytes += chunk.length;
    yield chunk;
  }
}

/** @returns false for a day with figures */
async function recordDay(client: pg.ClientBase, siteId: string, day: string): Promise<boolean> {
  const { stats, events } = await readSums(client, day);
  const byDimension = new Map<string, Map<string, StatChange>>();
  for (const { dimension, value, ...figures } of stats) {
    const values = byDimension.get(dimension) ?? new Map<string, StatChange>();
    byDimension.set(dimension, values.set(value, figures));
  }
  const occurrences: OpenOccurrences = new Map();
  for (const { name, property, value, count } of events) addOccurrences(occurrences, [name, property, value], count);
  const isNew = { capacityBytes: maxEventBytesPerDay, has: () => false, hasProperty: () => false };
  const change = {
    siteId,
    day,
    stats: byDimension,
    unnamedStats: new Map(),
    visitors: new Map(),
    visits: [],
    events: overflowEvents(occurrences, isNew),
  };
  return inTransaction(client, async () => {
    await lockSite(client, siteId);
    const { rowCount } = await client.query(markDaySql, [siteId, day]);
    if (rowCount !== 1) return false;
    await writeRollups(client, [change]);
    return true;
  });
}
