import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { openCountryDirectory } from "../attribution/country-directory.js";
import { createClaimCheck, type OpenClaim } from "../attribution/machine-claims.js";
import type { MachineList } from "../attribution/machine-list.schema.js";
import { createMachineNamer, type NamedMachine, unnamed } from "../attribution/machines.js";
import type { LeftOut, LineReader, Reading } from "../formats/format.js";
import { guessFormat, isCsv, openFormat } from "../formats/open-format.js";
import { BatchEncoder, createAttribution } from "./batch-encoder.js";
import { bufferOf } from "./encoded-batch.js";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import { joinRecords, type Line, readLines } from "./lines.js";
import type { MachineLine } from "./machine-lines.js";
import { OccurrenceCounter } from "./occurrences.js";
import {
  type CallServices,
  noProgress,
  type ReaderCounts,
  type ReaderOptions,
  type Rejection,
} from "./reader-services.js";

/**
 * Lines of one transaction: enough to spread the cost of a day's rollups, few enough to keep memory small and the site's lock
 * short. A batch has as many lines as came before it, so that the first ones are soon there.
 */
const batchLines = { first: 2_000, most: 8_000 } as const;
/** Characters of a batch, so that long lines do not add up. */
const maxBatchLength = 10_000_000;
/** Milliseconds after which it asks for salts again, since they die. */
const saltMs = 10_000;

interface GoodLine {
  readonly line: ImportLine;
  readonly machine?: Omit<MachineLine, "line">;
}

/** Takes good lines into batches, and stays one batch ahead of the writer. */
type BatchTaker = Awaited<ReturnType<typeof createBatchTaker>>;

async function createBatchTaker({ site, countries }: ReaderOptions, counts: ReaderCounts, call: CallServices) {
  const directory = countries && (await openCountryDirectory(countries.file));
  const shared = {
    siteId: site.id,
    settle: (claims: readonly OpenClaim[]) => call("settle", claims),
    occurrences: new OccurrenceCounter({
      read: (firstIds) => call("readEarlier", firstIds),
      add: (ids, seen) => call("addEarlier", { ids, seen }),
    }),
    attribute: createAttribution({ domain: site.domain, countryOf: (ip) => directory?.countryOf(ip) ?? null }),
  };
  const salts = new Map<string, Buffer>();
  let saltsUntil = 0;
  let horizon = await call("horizon", null);
  let batch: BatchEncoder | undefined;
  let [length, total, maxLines] = [0, 0, 0];
  let taken = Promise.resolve();

  const open = () => {
    if (Date.now() >= saltsUntil) salts.clear();
    if (salts.size === 0) saltsUntil = Date.now() + saltMs;
    maxLines = Math.min(Math.max(batchLines.first, total), batchLines.most);
    return new BatchEncoder({ ...shared, maxLines, horizon, salts });
  };
  const close = async (ended: BatchEncoder) => {
    total += ended.length;
    [batch, length] = [undefined, 0];
    const encoded = await ended.finish();
    await taken;
    taken = call("take", { counts, ...encoded }).then((known) => {
      horizon = known;
    });
    // The next batch awaits it; until then its failure must not count as unhandled.
    taken.catch(() => undefined);
  };
  const addLine = (to: BatchEncoder, each: Line, { line, machine }: GoodLine) => {
    if (machine) to.addMachine(each.number, { line, ...machine });
    else to.add(each.number, line);
    length += "text" in each ? each.text.length : 0;
    return to.length < maxLines && length < maxBatchLength ? undefined : close(to);
  };
  return {
    /** @returns a promise where something has to be waited for */
    add(each: Line, good: GoodLine): Promise<void> | undefined {
      const to = batch ?? open();
      batch = to;
      const day = good.machine ? undefined : to.missingSalt(good.line);
      if (day === undefined) return addLine(to, each, good);
      return call("salts", [day]).then((found) => {
        for (const [name, salt] of found) salts.set(name, bufferOf(salt));
        return addLine(to, each, good);
      });
    },
    async end(how: "end" | "flush" = "end") {
      if (batch) await close(batch);
      await taken;
      await call(how, counts);
    },
    /** Waits for the last batch, whatever becomes of it. */
    settle: () => taken.catch(() => undefined),
  };
}

/** The longest real page views have a few thousand bytes. */
const maxLineBytes = 65_536;

const guessedLines = 50;
/** After so many lines the reader lets answers in. */
const linesPerTurn = 128;
const chunksAhead = 4;
const maxRejections = 1_000;

export async function readImport(options: ReaderOptions, call: CallServices): Promise<void> {
  const { imported: _i, duplicates: _d, machines: _m, bytes: _b, ...counts } = noProgress(options.format);
  const taker = await createBatchTaker(options, counts, call);
  try {
    await readAll(options, counts, call, taker);
  } finally {
    await taker.settle();
  }
}

async function readAll(options: ReaderOptions, counts: ReaderCounts, call: CallServices, taker: BatchTaker) {
  let list = await call("machines", null);
  let sort = createSorter(options, list);
  let rejections: Rejection[] = [];
  let read: LineReader | undefined;
  const lines = readLines(readChunks(call), maxLineBytes);
  const input = options.format && isCsv(options.format) ? joinRecords(lines, maxLineBytes) : lines;
  for await (const lines of gatherFirst(input, options.format ? 0 : guessedLines)) {
    read ??= openReader(lines, options, counts);
    if (lines.length === 0) {
      await call("reject", rejections.splice(0));
      await taker.end("flush");
      const newer = await call("machines", list?.version ?? null);
      if (newer) [list, sort] = [newer, createSorter(options, newer)];
    }
    for (const each of lines) {
      if (++counts.lines % linesPerTurn === 0) await setImmediate();
      const result = "problem" in each ? each : sort(read(each.text));
      if ("problem" in result) {
        counts.rejected++;
        counts.malformed++;
        rejections.push({ line: each.number, problem: result.problem });
      } else if ("leftOut" in result) {
        if (result.leftOut === "bot") counts.bots++;
        else if (result.leftOut !== null) counts.leftOut[result.leftOut]++;
      } else {
        const taking = taker.add(each, result);
        // A promise for each line would take long.
        if (taking) await taking;
      }
      if (rejections.length < maxRejections) continue;
      await call("reject", rejections);
      rejections = [];
    }
  }
  await call("reject", rejections);
  await taker.end();
}

/** The input, asked for ahead: its thread is busy at times. */
async function* readChunks(call: CallServices): AsyncGenerator<Buffer> {
  const ask = () => {
    const chunk = call("chunk", null);
    // The loop below awaits it; until then its failure must not count as unhandled.
    chunk.catch(() => undefined);
    return chunk;
  };
  const asked = Array.from({ length: chunksAhead }, ask);
  for (let next = asked.shift(); next; next = asked.shift()) {
    const chunk = await next;
    if (!chunk) return;
    asked.push(ask());
    yield bufferOf(chunk);
  }
}

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

function openReader(lines: readonly Line[], { format }: ReaderOptions, counts: ReaderCounts): LineReader {
  const texts = lines.slice(0, guessedLines).flatMap((each) => ("text" in each ? [each.text] : []));
  counts.format = format ?? guessFormat(texts);
  return openFormat(counts.format);
}

type Sorted = GoodLine | { readonly leftOut: LeftOut | "bot" | null } | { readonly problem: string };

/** Tells whose a line is: a person's, a machine's or nobody's. People's do not depend on the options. */
function createSorter(
  { dropBots, machinesOnly }: ReaderOptions,
  list: MachineList | null,
): (reading: Reading) => Sorted {
  const nameOf = createMachineNamer(list ?? undefined);
  const claimOf = createClaimCheck();
  const find = (userAgent: string | null, isBot = false): NamedMachine | null =>
    nameOf(userAgent) ?? (isBot ? unnamed : null);
  return (reading) => {
    if (reading === null) return { leftOut: null };
    if ("problem" in reading) return reading;
    const { fields, leftOut, isBot, status = 0 } = reading;
    if (leftOut && (dropBots || !find(userAgentOf(fields)))) return { leftOut };
    const result = readImportLine(fields);
    if (!result.ok) return leftOut ? { leftOut } : { problem: result.problem };
    const { line } = result;
    const named = find(line.userAgent, isBot);
    if (!named) return machinesOnly ? { leftOut: null } : { line };
    if (dropBots) return { leftOut: "bot" };
    return { line, machine: { named, status, claim: claimOf(named, line.ip, line.at.slice(0, 10)) } };
  };
}

/** Of a log's request, before its other fields are read: most requests that are left out are of people. */
function userAgentOf(fields: unknown): string | null {
  const { user_agent: userAgent } = fields as { user_agent?: unknown };
  return typeof userAgent === "string" ? userAgent : null;
}
