import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { CommandError } from "../context/command-error.js";

/** Opens a file that its owner alone may read, in place of one of that name; it is on the disk when it closes. @throws CommandError with its name and the reason */
export async function openOutput(file: string): Promise<Writable> {
  const stream = createWriteStream(file, { mode: 0o600, flush: true });
  try {
    await once(stream, "open");
    return stream;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`The file '${file}' cannot be written (${code}).`, { cause: error });
  }
}
