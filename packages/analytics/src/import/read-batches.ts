import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { createBotCheck } from "../attribution/bots.js";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import type { ImportOptions, ImportProgress } from "./import-options.js";
import { type LineId, lineId } from "./line-id.js";
import { readLines } from "./lines.js";

/** The longest real page views have a few thousand bytes. */
const maxLineBytes = 65_536;

/** Lines of one transaction: enough to spread its fixed cost, few enough to keep memory small. */
const maxBatchLines = 2000;
/** Characters of a batch, so that long lines do not add up. */
const maxBatchLength = 4_000_000;
/** After so many lines the reader lets the database's answers in, so that the database works meanwhile. */
const linesPerTurn = 32;

export interface BatchLine {
  /** Position in the input, from 1. */
  readonly number: number;
  readonly line: ImportLine;
  readonly id: LineId;
}

/** Reads the input into batches of good lines, reports bad lines, and counts both in the progress. */
export async function* readBatches(options: ImportOptions, progress: ImportProgress): AsyncGenerator<BatchLine[]> {
  const isBot = createBotCheck();
  let batch: BatchLine[] = [];
  let length = 0;
  for await (const lines of readLines(readInput(options, progress), maxLineBytes)) {
    for (const each of lines) {
      if (++progress.lines % linesPerTurn === 0) await setImmediate();
      const result = "problem" in each ? ({ ok: false, problem: each.problem } as const) : readText(each.text);
      if (!result.ok) {
        progress.rejected++;
        options.onReject?.({ line: each.number, problem: result.problem });
        continue;
      }
      if (options.dropBots && isBot(result.line.userAgent)) {
        progress.bots++;
        continue;
      }
      batch.push({ number: each.number, line: result.line, id: lineId(result.line) });
      length += "text" in each ? each.text.length : 0;
      if (batch.length < maxBatchLines && length < maxBatchLength) continue;
      yield batch;
      batch = [];
      length = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** The counted input. The signal also ends a wait for bytes that may never come. */
async function* readInput(options: ImportOptions, progress: ImportProgress): AsyncGenerator<Buffer> {
  const { input, signal } = options;
  const iterator = input[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await orAborted(iterator.next(), signal);
      if (done) return;
      progress.bytes += value.length;
      yield value;
    }
  } finally {
    // Not awaited: a silent input may never end either.
    iterator.return?.()?.catch(() => undefined);
  }
}

/** The result of the work, or the signal's reason. A race with one promise for all waits would keep every result. */
function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function readText(text: string): ReturnType<typeof readImportLine> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: "The line must be a JSON object, and it is not valid JSON" };
  }
  return readImportLine(value);
}
