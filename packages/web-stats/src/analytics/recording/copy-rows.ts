import { Buffer } from "node:buffer";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { copySignature, RowWriter } from "./row-writer.js";

/** The type of a column, which decides its form. */
export type CopiedType =
  | "uuid"
  | "date"
  | "timestamptz"
  | "bigint"
  | "int"
  | "smallint"
  | "boolean"
  | "text"
  | "json"
  | "bigint[]";

/** Times and lists are texts: `YYYY-MM-DDTHH:MM:SS.ffffffZ` and `{1,2}`. */
export type CopiedValue = string | number | boolean | null;

/** A column of a table, and its value of a row. */
export interface CopiedColumn<Row> {
  readonly name: string;
  readonly type: CopiedType;
  read(row: Row): CopiedValue;
}

/** Bytes that go to the server at once. */
const chunkBytes = 65_536;
/** After the rows (Postgres documentation, COPY). */
const copyTrailer = Buffer.from([0xff, 0xff]);

/**
 * Adds rows to a table by COPY in its binary form, at half the cost of an INSERT. No row may be there already, and the
 * connection must not send statements together.
 */
export async function copyRows<Row>(
  client: pg.ClientBase,
  { table, columns }: { table: string; columns: readonly CopiedColumn<Row>[] },
  rows: Iterable<Row>,
): Promise<void> {
  const encode = function* () {
    const writer = new RowWriter(2 * chunkBytes);
    for (const row of rows) {
      writer.startRow(columns.length);
      for (const { type, read } of columns) addValue(writer, type, read(row));
      if (writer.length >= chunkBytes) yield writer.take();
    }
    yield writer.take();
  };
  const names = columns.map(({ name }) => name);
  await copyBytes(client, { table, columns: names }, encode());
}

/** As `copyRows`, of rows that a `RowWriter` wrote. */
export async function copyBytes(
  client: pg.ClientBase,
  { table, columns }: { table: string; columns: readonly string[] },
  rows: Iterable<Buffer>,
): Promise<void> {
  const names = columns.map((name) => `"${name}"`).join(", ");
  const stream = client.query(copyFrom(`COPY ${table} (${names}) FROM STDIN (FORMAT binary)`));
  const failed = new Promise<never>((_resolve, reject) => stream.on("error", reject));
  const send = (bytes: Buffer) => new Promise<void>((resolve) => stream.write(bytes, () => resolve()));
  const work = async () => {
    await send(copySignature);
    for (const bytes of rows) await send(bytes);
    await new Promise<void>((resolve) => stream.end(copyTrailer, () => resolve()));
  };
  const undo = (error: Error) => {
    stream.destroy(error);
    throw error;
  };
  await Promise.race([work().catch(undo), failed]);
}

function addValue(writer: RowWriter, type: CopiedType, value: CopiedValue): void {
  if (value === null) writer.addNull();
  else adders[type](writer, value);
}

const adders: Readonly<Record<CopiedType, (writer: RowWriter, value: NonNullable<CopiedValue>) => void>> = {
  uuid: (writer, value) => writer.addUuid(String(value)),
  date: (writer, value) => writer.addDate(String(value)),
  timestamptz: (writer, value) => writer.addTimestamp(String(value)),
  bigint: (writer, value) => (typeof value === "number" ? writer.addNumber(value) : writer.addBigint(String(value))),
  int: (writer, value) => writer.addInt(Number(value)),
  smallint: (writer, value) => writer.addSmallint(Number(value)),
  boolean: (writer, value) => writer.addBoolean(Boolean(value)),
  text: (writer, value) => writer.addText(String(value)),
  json: (writer, value) => writer.addText(String(value)),
  "bigint[]": (writer, value) => writer.addBigints(String(value)),
};
