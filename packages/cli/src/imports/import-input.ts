import { once } from "node:events";
import { createReadStream, type Stats } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandError } from "../context/command-error.js";
import { readZip } from "./zip-file.js";

/**
 * Opens a file, or standard input for `-`.
 * @param zipped the name of the file to read of a zip archive
 * @returns the bytes, of gzip its content, and their number, undefined for standard input, pipes, gzip and zip
 * @throws CommandError when there is no such file, it is a folder, or it may not be read
 */
export async function openImportInput(file: string, stdin: Readable, zipped?: string) {
  const found = file === "-" ? undefined : await findFile(file);
  const stream = found ? createReadStream(file, { highWaterMark: 256 * 1024 }) : stdin;
  const start = await peek(stream);
  if (zipped !== undefined && found?.isFile() && start === "PK") {
    stream.destroy();
    const entry = (await readZip(file)).find(({ name }) => name === zipped || name.endsWith(`/${zipped}`));
    if (!entry) throw new CommandError(`'${file}' has no file ${zipped}.`);
    return { bytes: entry.open(), totalBytes: undefined };
  }
  if (start === "\u001f\u008b") return { bytes: unpack(stream), totalBytes: undefined };
  return { bytes: stream, totalBytes: found?.isFile() ? found.size : undefined };
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

/** The first two bytes of a stream, which stay in it. */
async function peek(stream: Readable): Promise<string> {
  let start: Buffer | null;
  do {
    await Promise.race([once(stream, "readable"), once(stream, "end")]);
    start = stream.read(2);
  } while (start === null && stream.readableLength > 0);
  if (start !== null) stream.unshift(start);
  return start?.toString("latin1", 0, 2) ?? "";
}

async function* unpack(packed: Readable): AsyncGenerator<Buffer> {
  try {
    yield* pipeline(packed, createGunzip(), () => undefined);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!code?.startsWith("Z_")) throw error;
    throw new CommandError("The gzip file is damaged or cut. What was imported stays.", { cause: error });
  }
}
