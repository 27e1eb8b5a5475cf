import { BackupError } from "./backup-format.js";

/** A row of Waymark is far below this. */
const maxLineBytes = 512 * 1_048_576;

const newline = 10;

/** Pieces of whole lines of a stream. @throws BackupError for a line of 512 MiB and a last line without its end */
export async function* readWholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
