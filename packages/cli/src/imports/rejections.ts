import { once } from "node:events";
import type { Writable } from "node:stream";
import { CommandError } from "../context/command-error.js";
import { openOutput } from "../output/open-output.js";

/** A rejected line of an import, with the reason. */
interface Rejection {
  line: number;
  problem: string;
}

/** Lines shown in full; a file of the wrong kind has millions. */
const shownRejections = 100;

/** Collects rejections: the first hundred in memory, all of them in a file on demand. */
export interface RejectionReport {
  add(rejection: Rejection): void;
  /** Completes the file and writes the first rejections to the stream. */
  finish(stream: Writable): Promise<void>;
}

/**
 * Opens a report.
 * @param file for all rejections, one JSON object `{line, problem}` a line; undefined for no file
 * @throws CommandError when the file cannot be written
 */
export async function openRejectionReport(file: string | undefined): Promise<RejectionReport> {
  const output = file === undefined ? undefined : await openOutput(file);
  const first: Rejection[] = [];
  let count = 0;
  let failure: Error | undefined;
  output?.on("error", (error) => {
    failure = error;
  });
  return {
    add(rejection) {
      count++;
      if (first.length < shownRejections) first.push(rejection);
      output?.write(`${JSON.stringify(rejection)}\n`);
    },
    async finish(stream) {
      for (const { line, problem } of first) stream.write(`Line ${line}: ${problem}\n`);
      const rest = count - first.length;
      const where = file === undefined ? "--rejects FILE writes all of them" : `all are in ${file}`;
      if (rest > 0) stream.write(`... and ${rest.toLocaleString("en-US")} more rejected lines; ${where}.\n`);
      if (output) {
        output.end();
        await Promise.race([once(output, "close"), once(output, "error")]).catch(() => undefined);
      }
      if (failure) throw new CommandError(`The rejected lines could not be written to '${file}': ${failure.message}.`);
    },
  };
}
