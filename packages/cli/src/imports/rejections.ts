import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { CommandError } from "../context/command-error.js";
import { openOutput } from "../output/open-output.js";
import { formatCount } from "../output/terminal-text.js";

interface Rejection {
  line: number;
  problem: string;
}

/** Lines shown in full; a file of the wrong kind has millions. */
const shownRejections = 100;

export type RejectionReport = Awaited<ReturnType<typeof openRejectionReport>>;

/**
 * Collects rejections: the first hundred in memory, all of them in a file on demand.
 * @param file for all rejections, one JSON object `{line, problem}` a line; undefined for no file
 * @throws CommandError when the file cannot be written
 */
export async function openRejectionReport(file: string | undefined) {
  const output = file === undefined ? undefined : await openOutput(file);
  const first: Rejection[] = [];
  let count = 0;
  // `finish` tells it.
  output?.on("error", () => undefined);
  return {
    add(rejection: Rejection) {
      count++;
      if (first.length < shownRejections) first.push(rejection);
      output?.write(`${JSON.stringify(rejection)}\n`);
    },
    /** Completes the file and writes the first rejections to the stream. */
    async finish(stream: Writable) {
      for (const { line, problem } of first) stream.write(`Line ${line}: ${problem}\n`);
      const rest = count - first.length;
      const where = file === undefined ? "--rejects FILE writes all of them" : `all are in ${file}`;
      if (rest > 0) stream.write(`... and ${formatCount(rest)} more rejected lines; ${where}.\n`);
      if (!output) return;
      await finished(output.end()).catch((error: Error) => {
        throw new CommandError(`The rejected lines could not be written to '${file}': ${error.message}.`);
      });
    },
  };
}
