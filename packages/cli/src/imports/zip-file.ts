import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import { CommandError } from "../context/command-error.js";

/** A file within a zip archive. */
export interface ZipEntry {
  readonly name: string;
  /** The content, a part at a time; its end throws where it is not what the archive says. */
  open(): AsyncIterable<Buffer>;
}

const endSignature = 0x06054b50;
const wideEndSignature = 0x06064b50;
const locatorSignature = 0x07064b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const [stored, deflated] = [0, 8];
const endLength = 22;
const locatorLength = 20;
const maxComment = 0xffff;
/** The export of a tool has a dozen files; a list of millions is no export. */
const maxDirectoryBytes = 4 * 1_024 * 1_024;

/**
 * Reads the list of a zip archive's files by its central directory, with the sizes of ZIP64.
 * @throws CommandError for a file that is no whole archive
 */
export async function readZip(file: string): Promise<ZipEntry[]> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const { offset, length } = await findDirectory(handle, size);
    if (length > maxDirectoryBytes || offset + length > size) throw damaged(file);
    return readDirectory(await readAt(handle, offset, length), file);
  } catch (error) {
    throw error instanceof RangeError ? damaged(file) : error;
  } finally {
    await handle.close();
  }
}

function damaged(file: string): CommandError {
  return new CommandError(`'${file}' is no whole zip archive.`);
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new RangeError("the file is shorter");
  return buffer;
}

/** The end record stands last, before a comment. */
async function findDirectory(handle: FileHandle, size: number): Promise<{ offset: number; length: number }> {
  const tail = await readAt(handle, Math.max(0, size - endLength - maxComment), Math.min(size, endLength + maxComment));
  for (let at = tail.length - endLength; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== endSignature || at + endLength + tail.readUInt16LE(at + 20) !== tail.length) continue;
    const [length, offset] = [tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
    if (offset !== 0xffffffff && length !== 0xffffffff) return { offset, length };
    const locator = tail.subarray(at - locatorLength, at);
    if (locator.readUInt32LE(0) !== locatorSignature) break;
    const wide = await readAt(handle, readLong(locator, 8), 56);
    if (wide.readUInt32LE(0) !== wideEndSignature) break;
    return { length: readLong(wide, 40), offset: readLong(wide, 48) };
  }
  throw new RangeError("there is no end record");
}

function readDirectory(bytes: Buffer, file: string): ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes.readUInt32LE(at) !== entrySignature) throw damaged(file);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((each) => bytes.readUInt16LE(at + each));
    const nameEnd = at + 46 + (nameLength ?? 0);
    const end = nameEnd + (extraLength ?? 0) + (commentLength ?? 0);
    if (end > bytes.length) throw damaged(file);
    const name = bytes.toString("utf8", at + 46, nameEnd);
    const extra = bytes.subarray(nameEnd, nameEnd + (extraLength ?? 0));
    const [size, packedSize, offset] = readSizes(bytes.subarray(at, nameEnd), extra);
    const isEncrypted = (bytes.readUInt16LE(at + 8) & 1) === 1;
    const location = {
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      size,
      packedSize,
      offset,
    };
    const read = () => readEntry(file, name, { ...location, isEncrypted });
    if (!name.endsWith("/")) entries.push({ name, open: read });
    at = end;
  }
  return entries;
}

type Sizes = [size: number, packedSize: number, offset: number];

/** Sizes above 4 GiB stand in an extra field, in this order. */
function readSizes(entry: Buffer, extra: Buffer): Sizes {
  const narrow: Sizes = [entry.readUInt32LE(24), entry.readUInt32LE(20), entry.readUInt32LE(42)];
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    let next = at + 4;
    return narrow.map((value) => {
      if (value !== 0xffffffff) return value;
      next += 8;
      return readLong(extra, next - 8);
    }) as Sizes;
  }
  return narrow;
}

interface Location {
  readonly method: number;
  readonly crc: number;
  readonly size: number;
  readonly packedSize: number;
  readonly offset: number;
  readonly isEncrypted: boolean;
}

async function* readEntry(file: string, name: string, location: Location): AsyncGenerator<Buffer> {
  const { method, crc, size, packedSize, offset, isEncrypted } = location;
  const wrong = (what: string) => new CommandError(`'${name}' in '${file}' ${what}. What was imported stays.`);
  if (isEncrypted) throw wrong("is encrypted");
  if (method !== stored && method !== deflated) throw wrong("has a compression other than deflate");
  const start = await findContent(file, offset).catch(() => undefined);
  if (start === undefined) throw wrong("is damaged");
  if (packedSize === 0) return;
  const packed = createReadStream(file, { start, end: start + packedSize - 1, highWaterMark: 256 * 1024 });
  const content = method === stored ? packed : pipeline(packed, createInflateRaw(), () => undefined);
  let [length, sum] = [0, 0];
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      length += chunk.length;
      // An archive that unpacks to more than it says is made to harm.
      if (length > size) break;
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith("Z_")) throw wrong("is damaged");
    throw error;
  }
  if (length !== size || sum !== crc) throw wrong("is damaged");
}

/** The position of an entry's content, behind its own header. */
async function findContent(file: string, offset: number): Promise<number> {
  const handle = await open(file, "r");
  try {
    const header = await readAt(handle, offset, 30);
    if (header.readUInt32LE(0) !== localSignature) throw new RangeError("there is no header");
    return offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  } finally {
    await handle.close();
  }
}

function readLong(bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64LE(at);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("a size is too large");
  return Number(value);
}
