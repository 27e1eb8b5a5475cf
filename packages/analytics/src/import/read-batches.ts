import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { createBotCheck } from "../attribution/bots.js";
import type { LeftOut, LineReader } from "../formats/format.js";
import { guessFormat } from "../formats/guess-format.js";
import { isCsv, openFormat } from "../formats/open-format.js";
import { joinRecords } from "./csv-records.js";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import type { ImportOptions, ImportProgress } from "./import-options.js";
import { type LineId, lineId } from "./line-id.js";
import { type Line, readLines } from "./lines.js";

/** The longest real page views have a few thousand bytes. */
const maxLineBytes = 65_536;

/** Lines of one transaction: enough to spread its fixed cost, few enough to keep memory small. */
const maxBatchLines = 2000;
/** Characters of a batch, so that long lines do not add up. */
const maxBatchLength = 4_000_000;
/** Lines to guess a format from. */
const guessedLines = 50;
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
  let read: LineReader | undefined;
  const lines = readLines(readInput(options, progress), maxLineBytes);
  const input = options.format && isCsv(options.format) ? joinRecords(lines, maxLineBytes) : lines;
  for await (const lines of gatherFirst(input, guessedLines)) {
    read ??= openReader(lines, options, progress);
    for (const each of lines) {
      if (++progress.lines % linesPerTurn === 0) await setImmediate();
      const result = readLine(each, read);
      if ("problem" in result) {
        progress.rejected++;
        progress.malformed++;
        options.onReject?.({ line: each.number, problem: result.problem });
        continue;
      }
      if ("leftOut" in result) {
        if (result.leftOut !== null) progress.leftOut[result.leftOut]++;
        continue;
      }
      const { line } = result;
      if (options.dropBots && (result.isBot || isBot(line.userAgent))) {
        progress.bots++;
        continue;
      }
      batch.push({ number: each.number, line, id: lineId(line) });
      length += "text" in each ? each.text.length : 0;
      if (batch.length < maxBatchLines && length < maxBatchLength) continue;
      yield batch;
      batch = [];
      length = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** The same lines, the first so many at once. */
async function* gatherFirst(input: AsyncIterable<Line[]>, count: number): AsyncGenerator<Line[]> {
  let first: Line[] | undefined = [];
  for await (const lines of input) {
    if (!first) {
      yield lines;
      continue;
    }
    first = first.concat(lines);
    if (first.length < count) continue;
    yield first;
    first = undefined;
  }
  if (first && first.length > 0) yield first;
}

function openReader(lines: readonly Line[], { format }: ImportOptions, progress: ImportProgress): LineReader {
  const texts = lines.slice(0, guessedLines).flatMap((each) => ("text" in each ? [each.text] : []));
  progress.format = format ?? guessFormat(texts);
  return openFormat(progress.format);
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

function readLine(
  each: Line,
  read: LineReader,
): { line: ImportLine; isBot: boolean } | { leftOut: LeftOut | null } | { problem: string } {
  if ("problem" in each) return each;
  const reading = read(each.text);
  if (reading === null) return { leftOut: null };
  if (!("fields" in reading)) return reading;
  const result = readImportLine(reading.fields);
  return result.ok ? { line: result.line, isBot: reading.isBot === true } : { problem: result.problem };
}
