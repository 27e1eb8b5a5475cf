import { pipeline } from "node:stream/promises";
import { breakConnection } from "@waymark/database";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

interface TableCopy {
  /** The rows to read. */
  select: string;
  /** The table to write, quoted for SQL, with its columns in the order of the rows. */
  into: string;
  columns: readonly string[];
  signal: AbortSignal;
}

/**
 * Copies rows from one database into another, a piece at a time. Both sides need `backupSession`. An error or the signal in the
 * middle breaks both connections, whose transactions the servers then roll back.
 * @returns the number of rows
 */
export async function copyTable(
  source: pg.ClientBase,
  target: pg.ClientBase,
  { select, into, columns, signal }: TableCopy,
): Promise<number> {
  signal.throwIfAborted();
  const list = columns.map((column) => `"${column}"`).join(", ");
  const writer = target.query(copyFrom(`COPY ${into} (${list}) FROM STDIN`));
  await pipeline(source.query(copyTo(`COPY (${select}) TO STDOUT`)), writer, { signal }).catch((error) => {
    for (const client of [source, target]) breakConnection(client);
    throw error;
  });
  return writer.rowCount;
}
