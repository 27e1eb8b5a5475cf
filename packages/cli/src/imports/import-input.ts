import { createReadStream, type Stats } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandError } from "../context/command-error.js";

export interface ImportInput {
  /** Of gzip its content. */
  bytes: AsyncIterable<Buffer>;
  /** Undefined for standard input, pipes and gzip. */
  totalBytes: number | undefined;
}

const gzipMagic = Buffer.from([0x1f, 0x8b]);

/**
 * Opens a file, or standard input for `-`.
 * @throws CommandError when there is no such file, it is a folder, or it may not be read
 */
export async function openImportInput(file: string, stdin: Readable): Promise<ImportInput> {
  if (file === "-") return unpack({ bytes: stdin, totalBytes: undefined });
  const found = await findFile(file);
  return unpack({
    bytes: createReadStream(file, { highWaterMark: 256 * 1024 }),
    totalBytes: found.isFile() ? found.size : undefined,
  });
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

/** The content of gzip, a part at a time; anything else as it is. */
async function unpack({ bytes, totalBytes }: ImportInput): Promise<ImportInput> {
  const source = bytes[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  let isEnd = false;
  while (!isEnd && Buffer.concat(first).length < gzipMagic.length) {
    const { done, value } = await source.next();
    if (done) isEnd = true;
    else first.push(value);
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield* first;
      while (!isEnd) {
        const { done, value } = await source.next();
        if (done) return;
        yield value;
      }
    } finally {
      // Not awaited: a silent input may never end.
      source.return?.()?.catch(() => undefined);
    }
  }
  if (!Buffer.concat(first).subarray(0, gzipMagic.length).equals(gzipMagic)) return { bytes: all(), totalBytes };
  const content = createGunzip();
  pipeline(Readable.from(all()), content, () => undefined);
  return { bytes: checkGzip(content), totalBytes: undefined };
}

async function* checkGzip(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!code?.startsWith("Z_")) throw error;
    throw new CommandError("The gzip file is damaged or cut. What was imported stays.", { cause: error });
  }
}
