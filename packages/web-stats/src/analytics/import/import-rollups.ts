import type { Buffer } from "node:buffer";
import { inTransaction, withConnection } from "@waymark/database";
import { textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { createSourceClassifier } from "../attribution/source-classifier.js";
import { openCsv } from "../formats/csv.js";
import type { Reading } from "../formats/format.js";
import {
  type Classify,
  type DayFigures,
  type PlausibleTable,
  plausibleTable,
  readDay,
} from "../formats/plausible-export.js";
import { maxEventBytesPerDay, overflowEvents, rolledValue } from "../recording/event-overflow.js";
import type { StatChange } from "../recording/stat-table.js";
import { writeRollups } from "../recording/write-rollups.query.js";
import { joinRecords } from "./csv-records.js";
import { addToSums, createSums, dropSums, listSumDays, markDay, readSums } from "./imported-rollups.query.js";
import { readLines } from "./lines.js";
import { lockSite } from "./write-batches.js";

const maxRecordBytes = 65_536;
/** Records of one statement. */
const batchRecords = 1_000;

export interface RollupImportOptions {
  pool: pg.Pool;
  site: { id: string; domain: string };
  /** The files of Plausible's export, by their names. Files that count nothing are not read. */
  files: readonly { readonly name: string; open(): AsyncIterable<Buffer> }[];
  onProgress?(progress: Readonly<RollupImportProgress>): void;
  /** Called for each record that is left out. */
  onReject?(rejection: { line: number; problem: string }): void;
  /** Stops between records, and between days. */
  signal?: AbortSignal;
}

export interface RollupImportProgress {
  lines: number;
  bytes: number;
  /** Days with their figures recorded. */
  imported: number;
  /** Records that could not be read. */
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
    await createSums(client);
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
    await dropSums(client);
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
  const occurrences = new Map<string, Map<string, Map<string, number>>>();
  for (const { name, property, value, count } of events) {
    const properties = occurrences.get(name) ?? new Map<string, Map<string, number>>();
    const values = properties.get(property) ?? new Map<string, number>();
    occurrences.set(name, properties.set(property, values.set(value, count)));
  }
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
    if (!(await markDay(client, { siteId, day, source: "plausible" }))) return false;
    await writeRollups(client, [change]);
    return true;
  });
}
