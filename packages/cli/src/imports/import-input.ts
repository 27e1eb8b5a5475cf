import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { CommandError } from "../context/command-error.js";

export interface ImportInput {
  bytes: AsyncIterable<Buffer>;
  /** Undefined for standard input and pipes. */
  totalBytes: number | undefined;
}

/**
 * Opens a file, or standard input for `-`.
 * @throws CommandError when there is no such file, it is a folder, or it may not be read
 */
export async function openImportInput(file: string, stdin: Readable): Promise<ImportInput> {
  if (file === "-") return { bytes: stdin, totalBytes: undefined };
  try {
    const found = await stat(file);
    if (found.isDirectory())
      throw new CommandError(`'${file}' is a folder; --file wants a file, or - for standard input.`);
    await access(file, constants.R_OK);
    return {
      bytes: createReadStream(file, { highWaterMark: 256 * 1024 }),
      totalBytes: found.isFile() ? found.size : undefined,
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw new CommandError(`There is no file '${file}'.`);
    if (code === "EACCES" || code === "EPERM") throw new CommandError(`The file '${file}' may not be read.`);
    throw error;
  }
}
