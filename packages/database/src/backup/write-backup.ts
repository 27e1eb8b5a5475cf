import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { withClient } from "../transaction.js";
import { backupEnd, backupSession, backupStart, copyLine, rowsLine, sequenceLine } from "./backup-format.js";
import { findPartitions, findSequences, findTables } from "./tables.query.js";

export interface BackupOptions {
  onProgress(progress: { table: string; rows: number }): void;
  signal: AbortSignal;
}

const newline = 10;

/**
 * Writes all data of one moment, compressed with gzip, while services read and write. Reads every table once.
 * Left out are the salts of visitor hashes, and the queue's jobs: the worker's sweep needs none.
 */
export function writeBackup(url: string, output: Writable, options: BackupOptions): Promise<{ rows: number }> {
  return withClient(url, "backup", async (client) => {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await client.query(backupSession);
    let rows = 0;
    const read = async function* () {
      for await (const piece of readDatabase(client, options)) {
        rows += piece.rows;
        yield piece.text;
      }
    };
    await pipeline(read, createGzip(), output, { signal: options.signal });
    return { rows };
  });
}

async function* readDatabase(client: pg.Client, { onProgress }: BackupOptions) {
  const { rows: applied } = await client.query<{ name: string }>(
    "SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY 1",
  );
  const header = { migrations: applied.map(({ name }) => name), ...(await findPartitions(client)) };
  yield { text: backupStart(header), rows: 0 };
  for (const { table, columns } of await findTables(client)) {
    yield { text: copyLine(table, columns), rows: 0 };
    const list = columns.map((column) => `"${column}"`).join(", ");
    const stream = client.query(copyTo(`COPY (SELECT ${list} FROM "${table}") TO STDOUT`));
    let rows = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const more = countNewlines(chunk);
      rows += more;
      yield { text: chunk, rows: more };
      onProgress({ table, rows });
    }
    yield { text: rowsLine(rows), rows: 0 };
  }
  for (const { name, value } of await findSequences(client)) yield { text: sequenceLine(name, value), rows: 0 };
  yield { text: backupEnd, rows: 0 };
}

function countNewlines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) count += 1;
  return count;
}
