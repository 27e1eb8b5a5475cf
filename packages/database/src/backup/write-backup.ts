import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { withClient } from "../transaction.js";
import { backupEnd, backupSession, backupStart, copyLine, rowsLine, sequenceLine } from "./backup-format.js";
import { RowSum, type TableSum } from "./row-sum.js";
import { findPartitions, findSequences, findTables } from "./tables.query.js";

export interface BackupOptions {
  onProgress(progress: { table: string; rows: number }): void;
  signal: AbortSignal;
}

/**
 * Writes all data of one moment, compressed with gzip, while services read and write. Reads every table once.
 * Left out are the salts of visitor hashes, and the queue's jobs: the worker's sweep needs none.
 */
export function writeBackup(
  url: string,
  output: Writable,
  options: BackupOptions,
): Promise<{ rows: number; at: string }> {
  return withClient(url, "backup", async (client) => {
    await beginReading(client);
    const { rows: moments } = await client.query<{ at: Date }>("SELECT now() AS at");
    const at = moments[0]?.at.toISOString() ?? "";
    let rows = 0;
    const read = async function* () {
      for await (const { text, sum } of readDatabase(client, at, options)) {
        rows += sum?.rows ?? 0;
        yield text;
      }
    };
    await pipeline(read, createGzip(), output, { signal: options.signal });
    return { rows, at };
  });
}

/** The sums of all tables, as a backup would have them. */
export function sumTables(url: string, options: BackupOptions): Promise<readonly TableSum[]> {
  return withClient(url, "verify", async (client) => {
    await beginReading(client);
    const sums: TableSum[] = [];
    for await (const { sum } of readTables(client, options)) if (sum) sums.push(sum);
    return sums;
  });
}

async function beginReading(client: pg.Client): Promise<void> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await client.query(backupSession);
}

interface Piece {
  text: string | Buffer;
  /** With the end of a table. */
  sum?: TableSum;
}

async function* readDatabase(client: pg.Client, at: string, options: BackupOptions): AsyncGenerator<Piece> {
  const { rows: applied } = await client.query<{ name: string }>(
    "SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY 1",
  );
  const header = { at, migrations: applied.map(({ name }) => name), ...(await findPartitions(client)) };
  yield { text: backupStart(header) };
  yield* readTables(client, options);
  for (const { name, value } of await findSequences(client)) yield { text: sequenceLine(name, value) };
  yield { text: backupEnd };
}

async function* readTables(client: pg.Client, { onProgress, signal }: BackupOptions): AsyncGenerator<Piece> {
  for (const { table, columns } of await findTables(client)) {
    yield { text: copyLine(table, columns) };
    const list = columns.map((column) => `"${column}"`).join(", ");
    const stream = client.query(copyTo(`COPY (SELECT ${list} FROM "${table}") TO STDOUT`));
    const sum = new RowSum();
    let rows = 0;
    for await (const text of stream as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      rows += sum.add(text);
      yield { text };
      onProgress({ table, rows });
    }
    const total = sum.of(table);
    yield { text: rowsLine(total), sum: total };
  }
}
