import { Buffer } from "node:buffer";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { listColumns } from "../../lists/lists.js";
import type { SiteEvent } from "./site-event.js";
import { microsOf } from "./visit.js";

/** What COPY reads before the rows of its binary form (Postgres documentation, COPY). */
const copySignature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
const nullLength = -1;
const bigintOid = 20;
const arrayHeaderBytes = 20;
const dayMs = 86_400_000;
/** Postgres counts from here. */
const epochMs = Date.UTC(2000, 0, 1);
/** A loop is faster than a call for texts below this length. */
const shortLength = 48;

class RowWriter {
  length = 0;
  bytes: Buffer;
  private day = "";
  private dayUs = 0;

  constructor(private readonly size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.allocUnsafeSlow(this.size);
    this.length = 0;
    return taken;
  }

  /** Takes the bytes from a place on back. */
  cut(start: number): Uint8Array {
    const taken = Uint8Array.prototype.slice.call(this.bytes, start, this.length);
    this.length = start;
    return taken;
  }

  startRow(columns: number): void {
    this.reserve(2);
    this.length = this.bytes.writeInt16BE(columns, this.length);
  }

  addNull(): void {
    this.addLength(nullLength);
  }

  addBytes(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  addText(text: string): void {
    // A UTF-16 code unit takes at most three bytes.
    this.reserve(4 + 3 * text.length);
    const { bytes, length } = this;
    const start = length + 4;
    let written = 0;
    if (text.length < shortLength) {
      for (; written < text.length; written++) {
        const code = text.charCodeAt(written);
        if (code > 0x7f) break;
        bytes[start + written] = code;
      }
    }
    if (written < text.length) written = bytes.write(text, start);
    bytes.writeInt32BE(written, length);
    this.length = start + written;
  }

  addUuid(text: string): void {
    const bytes = this.addLength(16);
    writeUuid(bytes, this.length, text);
    this.length += 16;
  }

  addDate(day: string): void {
    this.addInt((Date.parse(day) - epochMs) / dayMs);
  }

  addTimestamp(at: string): void {
    if (!at.startsWith(this.day) || this.day === "") {
      this.day = at.slice(0, 10);
      this.dayUs = (Date.parse(this.day) - epochMs) * 1_000;
    }
    const us = this.dayUs + microsOf(at);
    if (Number.isSafeInteger(us)) this.addNumber(us);
    else this.addBigint((BigInt(Date.parse(this.day) - epochMs) * 1_000n + BigInt(microsOf(at))).toString());
  }

  addBoolean(value: boolean): void {
    this.length = this.addLength(1).writeInt8(value ? 1 : 0, this.length);
  }

  addSmallint(value: number): void {
    this.length = this.addLength(2).writeInt16BE(value, this.length);
  }

  addInt(value: number): void {
    this.length = this.addLength(4).writeInt32BE(value, this.length);
  }

  /** A bigint that is a whole number between -2^53 and 2^53. */
  addNumber(value: number): void {
    const bytes = this.addLength(8);
    this.length = bytes.writeInt32BE(Math.floor(value / 2 ** 32), this.length);
    this.length = bytes.writeUInt32BE(value >>> 0, this.length);
  }

  addBigint(digits: string): void {
    const bytes = this.addLength(8);
    const isNegative = digits.charCodeAt(0) === minus;
    // Six digits at a time: their products stay whole numbers.
    let [high, low] = [0, 0];
    for (let at = isNegative ? 1 : 0; at < digits.length; ) {
      let [part, power] = [0, 1];
      for (const end = Math.min(at + 6, digits.length); at < end; at++) {
        part = part * 10 + digits.charCodeAt(at) - zero;
        power *= 10;
      }
      const product = low * power + part;
      low = product >>> 0;
      high = (high * power + Math.floor(product / 2 ** 32)) >>> 0;
    }
    if (isNegative) {
      low = -low >>> 0;
      high = (low === 0 ? -high : ~high) >>> 0;
    }
    bytes.writeUInt32BE(high, this.length);
    this.length = bytes.writeUInt32BE(low, this.length + 4);
  }

  addBigints(list: string): void {
    const values = list === "{}" ? [] : list.slice(1, -1).split(",");
    this.addLength(arrayHeaderBytes + 12 * values.length - (values.length === 0 ? 8 : 0));
    const header = [values.length === 0 ? 0 : 1, 0, bigintOid, ...(values.length === 0 ? [] : [values.length, 1])];
    for (const each of header) this.length = this.bytes.writeInt32BE(each, this.length);
    for (const value of values) this.addBigint(value);
  }

  private addLength(length: number): Buffer {
    this.reserve(4 + Math.max(0, length));
    this.length = this.bytes.writeInt32BE(length, this.length);
    return this.bytes;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + bytes));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

function writeUuid(bytes: Uint8Array, start: number, text: string): void {
  let to = start;
  for (let at = 0; at < text.length; at += 2) {
    if (text.charCodeAt(at) === dash) at++;
    bytes[to++] = (hexOf(text, at) << 4) | hexOf(text, at + 1);
  }
}

const dash = 0x2d;
const minus = dash;
const zero = 0x30;

function hexOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return (code & 0xf) + (code >> 6) * 9;
}

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

export interface CopiedColumn<Row> {
  readonly name: string;
  readonly type: CopiedType;
  read(row: Row): CopiedValue;
}

const chunkBytes = 65_536;
/** After the rows (Postgres documentation, COPY). */
const copyTrailer = Buffer.from([0xff, 0xff]);

/** Adds new rows by COPY, at half the cost of an INSERT; the connection must not send statements together. */
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

/** Columns that each event has for itself, in the order of `add`. */
const ownColumns: readonly string[] = [
  ...["site_id", "id", "at", "type", "visitor", "path", "name", "props", "host", "country"],
  ...["is_interactive", "engaged_ms", "scroll_depth"],
];

/** Columns that many events have the same values of. */
const originColumns = [...new Set(["referrer", ...listColumns])].filter((column) => !ownColumns.includes(column));

/** The columns of a row; those of revenue keep their defaults. */
export const eventRowColumns: readonly string[] = [...ownColumns, ...originColumns];

/** Where a row has its id: after the number of columns, the site, and the id's length. */
const idOffset = 2 + 20 + 4;

type OwnMember =
  | "id"
  | "at"
  | "type"
  | "visitor"
  | "path"
  | "name"
  | "host"
  | "country"
  | "isInteractive"
  | "engagement";

type EventRow = Pick<SiteEvent, OwnMember> & { readonly props: string | null };

export class EventRows {
  private readonly writer: RowWriter;
  private readonly origins: Uint8Array[] = [];
  private readonly ends: number[] = [];

  constructor(
    private readonly siteId: string,
    size: number,
  ) {
    this.writer = new RowWriter(size);
  }

  /** Adds the values of the other columns, for rows to name by their place. */
  addOrigin(origin: Readonly<Record<string, unknown>>): void {
    const { writer } = this;
    const start = writer.length;
    for (const column of originColumns) addText(writer, origin[column] as string | null);
    this.origins.push(writer.cut(start));
  }

  add(row: EventRow, origin: number): void {
    const { writer } = this;
    const { engagement } = row;
    writer.startRow(eventRowColumns.length);
    writer.addUuid(this.siteId);
    writer.addUuid(row.id);
    writer.addTimestamp(row.at);
    writer.addText(row.type);
    if (row.visitor === null) writer.addNull();
    else writer.addBigint(row.visitor);
    addText(writer, row.path);
    addText(writer, row.name);
    addText(writer, row.props);
    addText(writer, row.host);
    addText(writer, row.country);
    writer.addBoolean(row.isInteractive);
    const { engagedMs = null, scrollDepth = null } = engagement ?? {};
    if (engagedMs === null) writer.addNull();
    else writer.addInt(engagedMs);
    if (scrollDepth === null) writer.addNull();
    else writer.addSmallint(scrollDepth);
    writer.addBytes(this.origins[origin] ?? new Uint8Array());
    this.ends.push(writer.length);
  }

  rename(index: number, id: string): void {
    writeUuid(this.writer.bytes, (this.ends[index - 1] ?? 0) + idOffset, id);
  }

  /** @returns the rows, and where each of them ends */
  finish(): { bytes: Uint8Array; ends: Uint32Array } {
    const { bytes, length } = this.writer;
    return { bytes: bytes.subarray(0, length), ends: Uint32Array.from(this.ends) };
  }
}

function addText(writer: RowWriter, text: string | null | undefined): void {
  if (text === null || text === undefined) writer.addNull();
  else writer.addText(text);
}
