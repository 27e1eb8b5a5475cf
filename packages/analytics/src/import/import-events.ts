import { setImmediate } from "node:timers/promises";
import { inTransaction } from "@waymark/database";
import type pg from "pg";
import { createBotCheck } from "../attribution/bots.js";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { createSourceClassifier } from "../attribution/source.js";
import { createUserAgentReader } from "../attribution/user-agent.js";
import { holdHorizon, readHorizon } from "../maintenance/event-horizon.query.js";
import { createPartitions } from "../recording/partitions.query.js";
import { recordEvents } from "../recording/record-events.js";
import type { SiteEvent } from "../recording/site-event.js";
import { createSaltStore, hashPseudonym, hashVisitor, type SaltStore, type Salts } from "../visitors/visitors.js";
import { lineId } from "./event-id.js";
import { type ImportLine, readImportLine } from "./import-line.schema.js";
import { readLines } from "./lines.js";
import { createOccurrenceCounter } from "./occurrences.query.js";

/** Bytes of a line at most; the longest real page views have a few thousand. */
export const maxLineBytes = 65_536;

/** Lines of one transaction: enough that its fixed cost does not count, few enough that memory stays small. */
const batchLines = 2000;
/** A batch ends early at so many characters, so that long lines do not add up. */
const batchLength = 4_000_000;
/** Lines after which the database gets a turn: it works while we read, if its answers are heard soon. */
const linesPerTurn = 32;

/**
 * How long a transaction may stand still, in milliseconds: a process that is suspended in the middle of a batch must not keep its
 * site locked.
 */
const maxIdleMs = 5_000;
/** SQLSTATE of a session that Postgres ended for that. */
const idleInTransaction = "25P03";

const tooEarly =
  "Older raw events were removed (EVENT_RETENTION_MONTHS), so nobody can tell whether this one is counted already";

/** The import stood still in the middle of a batch, and the database undid that batch. */
export class ImportSuspendedError extends Error {
  override name = "ImportSuspendedError";

  constructor(cause: unknown) {
    const reason = `The import stood still for more than ${maxIdleMs / 1_000} seconds in the middle of a batch`;
    super(
      `${reason}, so the database undid that batch. What was imported before stays; run the same command again to go on.`,
      { cause },
    );
  }
}

/** What an import has done so far. */
export interface ImportProgress {
  /** Lines read, blank ones left out. */
  lines: number;
  /** Bytes read. */
  bytes: number;
  imported: number;
  rejected: number;
  /** Lines whose event was recorded already, by an earlier import or one that runs at the same time. */
  duplicates: number;
  /** Lines of bots that were left out. */
  bots: number;
}

/** What an import has done. */
export type ImportResult = Omit<ImportProgress, "lines" | "bytes">;

export interface ImportOptions {
  pool: pg.Pool;
  site: { id: string; domain: string };
  /** Newline-delimited JSON; see `import-line.schema.ts` for a line. */
  input: AsyncIterable<Buffer>;
  /** The country of an address, for lines that have an address and name no country; without it they have none. */
  countryOf?(ip: string): string | null;
  /** Leaves out lines whose user agent is a bot's. */
  dropBots?: boolean;
  /** Told after each batch that is recorded, and at the end. */
  onProgress?(progress: Readonly<ImportProgress>): void;
  /** Told of each line that is not recorded, with its number from 1 and a sentence that names the field. */
  onReject?(rejection: { line: number; problem: string }): void;
  /** Stops between batches; what is recorded stays. */
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** A line that is ready to be written. */
interface Candidate {
  /** Of the line, from 1. */
  readonly number: number;
  readonly line: ImportLine;
  readonly id: ReturnType<typeof lineId>;
}

/**
 * Records the events of a file or stream, in memory that does not grow with it. The same line is the same event: a file
 * may be imported twice, interrupted and run again, or overlap with another, while identical lines inside one file are
 * separate events. While one batch is written the next one is read.
 * @throws what the input, the database or the signal throws; batches recorded until then stay
 */
export async function importEvents(options: ImportOptions): Promise<ImportResult> {
  const { pool } = options;
  const progress: ImportProgress = { lines: 0, bytes: 0, imported: 0, rejected: 0, duplicates: 0, bots: 0 };
  const salts = createSaltStore({ pool, ...(options.now && { now: options.now }) });
  const partitions = createPartitions(pool, options.now);
  const toEvent = createEventMaker(options);
  const client = await pool.connect();
  // A connection that breaks between two statements says so by an event; the next statement fails all the same.
  let wasSuspended = false;
  const onError = (error: Error & { code?: unknown }) => {
    wasSuspended ||= error.code === idleInTransaction;
  };
  client.on("error", onError);
  let writing: Promise<void> = Promise.resolve();
  try {
    await client.query(`SET idle_in_transaction_session_timeout = ${maxIdleMs}`);
    const occurrences = await createOccurrenceCounter(client);
    const write = async (candidates: readonly Candidate[]) => {
      // Before the transaction, since it may take long; what lies before the horizon needs neither.
      const [wanted] = splitAt(await readHorizon(client), candidates);
      await partitions.ensure(new Set(wanted.map(({ line }) => dayOf(line))));
      const daySalts = await saltsFor(salts, wanted);
      const { recorded, refused } = await inTransaction(client, async () => {
        const horizon = await holdHorizon(client);
        const [kept, early] = splitAt(horizon, candidates);
        const count = await occurrences.count(kept.map(({ id }) => id.first));
        const events = kept.map((each) => toEvent(each, count(each.id.first), daySalts));
        return { recorded: await recordEvents(client, events), refused: early.map((each) => ({ each, horizon })) };
      });
      progress.imported += recorded;
      progress.rejected += refused.length;
      progress.duplicates += candidates.length - refused.length - recorded;
      for (const { each, horizon } of refused) {
        options.onReject?.({ line: each.number, problem: `ts: Must not lie before ${horizon}. ${tooEarly}` });
      }
      options.onProgress?.({ ...progress });
    };
    for await (const candidates of readBatches(options, progress)) {
      await writing;
      writing = write(candidates);
      // It is awaited one round later; until then its failure must not count as unhandled.
      writing.catch(() => undefined);
    }
    await writing;
  } catch (error) {
    if (wasSuspended || (error as { code?: unknown }).code === idleInTransaction) throw new ImportSuspendedError(error);
    throw error;
  } finally {
    await writing.catch(() => undefined);
    await releaseWithoutTable(client);
    client.off("error", onError);
  }
  options.onProgress?.({ ...progress });
  const { imported, rejected, duplicates, bots } = progress;
  return { imported, rejected, duplicates, bots };
}

/** Lines from the horizon on, and those before it. */
function splitAt(horizon: string | null, candidates: readonly Candidate[]) {
  if (horizon === null) return [candidates, []] as const;
  const isEarly = ({ line }: Candidate) => dayOf(line) < horizon;
  return [candidates.filter((each) => !isEarly(each)), candidates.filter(isEarly)] as const;
}

/** The input, counted, and ended by the signal also while it waits for bytes that may never come. */
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
    // Not awaited: an input that gives nothing may not end either.
    iterator.return?.()?.catch(() => undefined);
  }
}

/** What is waited for, or the signal's reason. Not a race with one promise for all waits, which would keep every result. */
function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Reads the input into batches of good lines. What is wrong is reported, what is a bot's is counted. */
async function* readBatches(options: ImportOptions, progress: ImportProgress): AsyncGenerator<Candidate[]> {
  const isBot = createBotCheck();
  let batch: Candidate[] = [];
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
      if (batch.length < batchLines && length < batchLength) continue;
      yield batch;
      batch = [];
      length = 0;
    }
  }
  if (batch.length > 0) yield batch;
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

function saltsFor(store: SaltStore, candidates: readonly Candidate[]): Promise<Salts> {
  const salted = candidates.filter(
    ({ line }) => line.visitor === null && (line.ip !== null || line.userAgent !== null),
  );
  return store.saltsOf(new Set(salted.map(({ line }) => dayOf(line))));
}

/** Makes the function that turns a line into the event that is recorded. */
function createEventMaker({ site, countryOf }: Pick<ImportOptions, "site" | "countryOf">) {
  const classify = createSourceClassifier({ referrers: loadReferrers(), siteDomain: site.domain });
  const readUserAgent = createUserAgentReader();
  return ({ line, id }: Candidate, occurrence: number, salts: Salts): SiteEvent => {
    const { at, type, path, ip, name, props } = line;
    const origin = classify(line.referrer, line.query);
    // What an export worked out before cannot be worked out again.
    const derived = line.derived ?? { ...origin, ...readUserAgent(line.userAgent) };
    return {
      siteId: site.id,
      id: id.nth(occurrence),
      at,
      type,
      visitor: visitorOf(line, site.id, salts),
      path,
      ...derived,
      referrer: origin.referrer,
      country: line.country ?? (ip === null ? null : (countryOf?.(ip) ?? null)),
      name,
      props,
    };
  };
}

/** A line that names neither a visitor nor an address nor a browser has no visitor: it counts as a view alone. */
function visitorOf(line: ImportLine, siteId: string, salts: Salts): string | null {
  const { visitor, ip, userAgent } = line;
  if (visitor !== null) return hashPseudonym(siteId, dayOf(line), visitor);
  if (ip === null && userAgent === null) return null;
  const salt = salts.get(dayOf(line));
  if (!salt) throw new Error(`There is no salt for ${dayOf(line)}`);
  return hashVisitor(salt, siteId, ip ?? "", userAgent ?? "");
}

function dayOf({ at }: ImportLine): string {
  return at.slice(0, 10);
}

/** Gives the connection back to the pool; one that cannot drop its table is closed instead, which drops it too. */
async function releaseWithoutTable(client: pg.PoolClient): Promise<void> {
  try {
    await client.query("DROP TABLE IF EXISTS pg_temp.import_line; RESET idle_in_transaction_session_timeout");
    client.release();
  } catch {
    client.release(true);
  }
}
