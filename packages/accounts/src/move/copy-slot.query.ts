import { pipeline } from "node:stream/promises";
import { backupSession, breakConnection, ensurePartitions, findPartitions, withTransaction } from "@waymark/database";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { findMovedTables, type MovedTable, MoveError, type SlotMove, setPhase } from "./slot-move.query.js";

export interface CopyOptions {
  onProgress(table: string): void;
  signal: AbortSignal;
}

/** A changed span or trace gets a number above those that it had. */
const raiseSequenceSql = `
  SELECT setval('model_call_version_seq', GREATEST($1, (SELECT last_value FROM model_call_version_seq)))`;

/**
 * Copies all rows of a slot's accounts in one transaction of the target, so that it has all or none, and compares their number
 * and a sum of their hashes. Reads each row three times. The target notes the slot as `arriving`. @throws MoveError
 */
export async function copySlot(
  source: pg.Pool,
  target: pg.Pool,
  { move, onProgress, signal }: CopyOptions & { move: SlotMove },
): Promise<Record<string, number>> {
  return withTransaction(source, async (reader) => {
    await reader.query(backupSession);
    const tables = await findMovedTables(reader);
    const partitions = await findPartitions(reader);
    const { rows: versions } = await reader.query("SELECT last_value AS last FROM model_call_version_seq");
    await target.query(raiseSequenceSql, [versions[0].last]);
    return withTransaction(target, async (writer) => {
      await writer.query(backupSession);
      await ensurePartitions(writer, partitions);
      for (const table of tables) {
        onProgress(table.table);
        await copyRows(reader, writer, { table, slot: move.slot, signal });
      }
      const copied: Record<string, number> = {};
      for (const table of tables) {
        onProgress(table.table);
        copied[table.table] = await compareRows(reader, writer, { table, slot: move.slot, signal });
      }
      await setPhase(writer, { ...move, phase: "arriving" });
      return copied;
    });
  });
}

interface TableOfSlot {
  table: MovedTable;
  slot: string;
  signal: AbortSignal;
}

async function copyRows(reader: pg.ClientBase, writer: pg.ClientBase, { table, slot, signal }: TableOfSlot) {
  const { columns, values, isShared } = table;
  const name = `"${table.table}"`;
  const select = `SELECT ${values} FROM ${name} WHERE ${table.where(slot)}`;
  if (!isShared) return copyTable(reader, writer, { select, into: name, columns, signal });
  // A person of two accounts may have come with the other one.
  await writer.query(`CREATE TEMP TABLE arriving (LIKE ${name}) ON COMMIT DROP`);
  const rows = await copyTable(reader, writer, { select, into: "pg_temp.arriving", columns, signal });
  await writer.query(`INSERT INTO ${name} SELECT * FROM pg_temp.arriving ON CONFLICT DO NOTHING`);
  await writer.query("DROP TABLE pg_temp.arriving");
  return rows;
}

async function compareRows(reader: pg.ClientBase, writer: pg.ClientBase, { table, slot, signal }: TableOfSlot) {
  signal.throwIfAborted();
  const sum = table.isShared ? "''" : `COALESCE(sum(hashtextextended(ROW(${table.values})::text, 0)), 0)::text`;
  const sql = `SELECT count(*)::float8 AS rows, ${sum} AS sum FROM "${table.table}" WHERE ${table.where(slot)}`;
  const read = async (client: pg.ClientBase) => (await client.query<{ rows: number; sum: string }>(sql)).rows[0];
  const [own, other] = await Promise.all([read(reader), read(writer)]);
  // A person of two cells may have other ways in there.
  const isOwn = table.isShared && table.table !== "person";
  const isComplete = isOwn || (own?.rows === other?.rows && own?.sum === other?.sum);
  if (own && isComplete) return own.rows;
  throw new MoveError(
    `The rows of ${table.table} differ: ${own?.rows} here, ${other?.rows} copied. Nothing has moved; run the same command again.`,
  );
}

interface TableCopy {
  select: string;
  /** The table to write, quoted for SQL, with its columns in the order of the rows. */
  into: string;
  columns: readonly string[];
  signal: AbortSignal;
}

/** A piece at a time; both sides need `backupSession`. An error or the signal breaks both, so both roll back. */
async function copyTable(
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
