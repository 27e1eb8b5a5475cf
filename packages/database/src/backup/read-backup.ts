import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { BackupError, type BackupHeader, copyEnd, readLine, readStart } from "./backup-format.js";
import { RowSum, type TableSum } from "./row-sum.js";

/** A table's `COPY`, a part of its rows, their sum after the last one, or a statement that sets a sequence. */
export type BackupPart =
  | { kind: "copy"; table: string; sql: string }
  | { kind: "rows"; text: Buffer }
  | { kind: "sum"; sum: TableSum }
  | { kind: "setval"; sql: string };

/**
 * Reads a backup and compares the rows of each table with the sum that the file states. Closing `parts` closes the input.
 * @throws BackupError with a sentence, here or from `parts`, for a file that is not whole or not as it was written
 */
export async function readBackup(
  input: Readable,
): Promise<{ header: BackupHeader; parts: AsyncGenerator<BackupPart> }> {
  const text = input.pipe(createGunzip());
  input.once("error", (error) => text.destroy(error));
  const pieces = readWholeLines(text);
  try {
    const first = await pieces.next().catch(explainGzip);
    const { line, rest } = firstLine(first.value ?? Buffer.alloc(0));
    return { header: readStart(line), parts: readParts(rest, pieces) };
  } catch (error) {
    text.destroy();
    throw error;
  }
}

async function* readParts(first: Buffer, pieces: AsyncGenerator<Buffer>): AsyncGenerator<BackupPart> {
  const parts = new Parts();
  try {
    yield* parts.take(first);
    for await (const piece of pieces) yield* parts.take(piece);
  } catch (error) {
    explainGzip(error);
  }
  parts.finish();
}

class Parts {
  private copying: string | undefined;
  private copied: TableSum | undefined;
  private sum = new RowSum();
  private isComplete = false;

  *take(piece: Buffer): Generator<BackupPart> {
    let rest = piece;
    while (rest.length > 0) {
      rest = this.copying === undefined ? yield* this.takeLine(rest) : yield* this.takeRows(this.copying, rest);
    }
  }

  finish(): void {
    if (!this.isComplete) throw new BackupError("This backup is broken: its end is missing.");
  }

  private *takeRows(table: string, piece: Buffer): Generator<BackupPart, Buffer> {
    const end = findCopyEnd(piece);
    const text = end === undefined ? piece : piece.subarray(0, end);
    if (text.length > 0) {
      this.sum.add(text);
      yield { kind: "rows", text };
    }
    if (end === undefined) return Buffer.alloc(0);
    this.copied = this.sum.of(table);
    this.copying = undefined;
    return piece.subarray(end + copyEnd.length);
  }

  private *takeLine(piece: Buffer): Generator<BackupPart, Buffer> {
    const { line, rest } = firstLine(piece);
    const read = readLine(line);
    if (read !== "end" && "rows" in read) yield { kind: "sum", sum: this.settle(read) };
    else if (this.copied || this.isComplete) throw new BackupError("This backup is broken: a line is out of place.");
    else if (read === "end") this.isComplete = true;
    else if ("setval" in read) yield { kind: "setval", sql: read.setval };
    else {
      this.copying = read.table;
      this.sum = new RowSum();
      yield { kind: "copy", ...read };
    }
    return rest;
  }

  private settle({ rows, digest }: { rows: number; digest: string | undefined }): TableSum {
    const { copied } = this;
    this.copied = undefined;
    if (!copied) throw new BackupError("This backup is broken: a line is out of place.");
    const { table } = copied;
    if (rows !== copied.rows)
      throw new BackupError(`This backup is broken: ${table} has ${copied.rows} rows, and had ${rows}.`);
    if (digest !== undefined && digest !== copied.digest)
      throw new BackupError(`This backup is broken: rows of ${table} are not as they were.`);
    return copied;
  }
}

function firstLine(piece: Buffer): { line: string; rest: Buffer } {
  const end = piece.indexOf("\n") + 1;
  return { line: piece.subarray(0, end).toString(), rest: piece.subarray(end) };
}

function findCopyEnd(piece: Buffer): number | undefined {
  if (piece.subarray(0, copyEnd.length).equals(Buffer.from(copyEnd))) return 0;
  const before = piece.indexOf(`\n${copyEnd}`);
  return before < 0 ? undefined : before + 1;
}

/** Errors of zlib have codes such as `Z_DATA_ERROR`. */
function explainGzip(error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string" && code.startsWith("Z_")) {
    throw new BackupError("This file is no backup of Waymark, or a part of it is missing.", { cause: error });
  }
  throw error;
}

const maxLineBytes = 512 * 1_048_576;

const newline = 10;

async function* readWholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      restBytes = 0;
    }
    if (end === chunk.length) continue;
    rest.push(chunk.subarray(end));
    restBytes += chunk.length - end;
    if (restBytes > maxLineBytes) throw new BackupError("This backup is broken: a line is too long.");
  }
  if (restBytes > 0) throw new BackupError("This backup is broken: it ends within a line.");
}
