import { Buffer } from "node:buffer";
import { crc32, deflateRawSync } from "node:zlib";

/** A zip archive of files, the content compressed; `change` may damage what the archive says about a file. */
export function writeZip(
  files: Readonly<Record<string, string>>,
  change: { size?: number; crc?: number; flags?: number; isWide?: boolean } = {},
): Buffer {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const packed = deflateRawSync(content);
    const [crc, size] = [change.crc ?? crc32(content), change.size ?? content.length];
    const local = header(0x04034b50, 30, [
      [6, change.flags ?? 0],
      [8, 8],
      [26, Buffer.byteLength(name)],
    ]);
    const extra = change.isWide ? wideSizes(size, packed.length, offset) : Buffer.alloc(0);
    const entry = header(0x02014b50, 46, [
      [8, change.flags ?? 0],
      [10, 8],
      [28, Buffer.byteLength(name)],
      [30, extra.length],
    ]);
    entry.writeUInt32LE(crc, 16);
    entry.writeUInt32LE(change.isWide ? 0xffffffff : packed.length, 20);
    entry.writeUInt32LE(change.isWide ? 0xffffffff : size, 24);
    entry.writeUInt32LE(change.isWide ? 0xffffffff : offset, 42);
    entries.push(entry, Buffer.from(name), extra);
    parts.push(local, Buffer.from(name), packed);
    offset += local.length + Buffer.byteLength(name) + packed.length;
  }
  const directory = Buffer.concat(entries);
  const count = Object.keys(files).length;
  const end = header(0x06054b50, 22, [
    [8, count],
    [10, count],
  ]);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}

function header(signature: number, length: number, fields: readonly (readonly [at: number, value: number])[]): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32LE(signature, 0);
  for (const [at, value] of fields) bytes.writeUInt16LE(value, at);
  return bytes;
}

function wideSizes(...sizes: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 8 * sizes.length);
  bytes.writeUInt16LE(1, 0);
  bytes.writeUInt16LE(8 * sizes.length, 2);
  for (const [index, size] of sizes.entries()) bytes.writeBigUInt64LE(BigInt(size), 4 + 8 * index);
  return bytes;
}
