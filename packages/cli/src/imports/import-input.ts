import { createReadStream, type Stats } from "node:fs";
import { access, constants, open, stat } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandError } from "../context/command-error.js";
import { readZip } from "./zip-file.js";

export interface ImportInput {
  /** Of gzip its content. */
  bytes: AsyncIterable<Buffer>;
  /** Undefined for standard input, pipes, gzip and zip. */
  totalBytes: number | undefined;
}

const gzipMagic = Buffer.from([0x1f, 0x8b]);
const zipMagic = Buffer.from("PK");

/**
 * Opens a file, or standard input for `-`.
 * @param zipped the name of the file to read of a zip archive
 * @throws CommandError when there is no such file, it is a folder, or it may not be read
 */
export async function openImportInput(file: string, stdin: Readable, zipped?: string): Promise<ImportInput> {
  if (file === "-") return { bytes: unpack(stdin), totalBytes: undefined };
  const found = await findFile(file);
  const start = found.isFile() ? await readStart(file) : Buffer.alloc(0);
  if (zipped !== undefined && start.equals(zipMagic)) {
    const entry = (await readZip(file)).find(({ name }) => name === zipped || name.endsWith(`/${zipped}`));
    if (!entry) throw new CommandError(`'${file}' has no file ${zipped}.`);
    return { bytes: entry.open(), totalBytes: undefined };
  }
  const isCounted = found.isFile() && !isGzip(start);
  return {
    bytes: unpack(createReadStream(file, { highWaterMark: 256 * 1024 })),
    totalBytes: isCounted ? found.size : undefined,
  };
}

/** @throws CommandError when there is no such file, it is a folder, or it may not be read */
export async function findFile(file: string): Promise<Stats> {
  try {
    const found = await stat(file);
    if (found.isDirectory())
      throw new CommandError(`'${file}' is a folder; --file wants a file, or - for standard input.`);
    await access(file, constants.R_OK);
    return found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw new CommandError(`There is no file '${file}'.`);
    if (code === "EACCES" || code === "EPERM") throw new CommandError(`The file '${file}' may not be read.`);
    throw error;
  }
}

async function readStart(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(gzipMagic.length), 0, gzipMagic.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function isGzip(start: Buffer): boolean {
  return start.subarray(0, gzipMagic.length).equals(gzipMagic);
}

/** The content of gzip, a part at a time; anything else as it is. */
async function* unpack(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = bytes[Symbol.asyncIterator]();
  const rest = { [Symbol.asyncIterator]: () => source };
  let start = Buffer.alloc(0);
  try {
    while (start.length < gzipMagic.length) {
      const { done, value } = await source.next();
      if (done) break;
      start = Buffer.concat([start, value]);
    }
    if (!isGzip(start)) {
      if (start.length > 0) yield start;
      yield* rest;
      return;
    }
    yield* pipeline(
      async function* () {
        yield start;
        yield* rest;
      },
      createGunzip(),
      () => undefined,
    ) as AsyncIterable<Buffer>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!code?.startsWith("Z_")) throw error;
    throw new CommandError("The gzip file is damaged or cut. What was imported stays.", { cause: error });
  }
}
