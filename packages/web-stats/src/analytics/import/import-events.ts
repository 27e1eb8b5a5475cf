import type { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import { withConnection } from "@waymark/database";
import type pg from "pg";
import { createClaimSettler } from "../attribution/machine-names.js";
import { machinesOf } from "../attribution/machine-store.query.js";
import { readHorizon } from "../maintenance/event-retention.query.js";
import { createSaltStore } from "../visitors/hash-visitor.js";
import { type Batch, decodeBatch } from "./encoded-batch.js";
import { type EarlierLines, withEarlierLines } from "./occurrences.js";
import { readImport } from "./read-import.js";
import {
  answerCalls,
  callThrough,
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  noProgress,
  type ReaderCounts,
  type ReaderOptions,
  type ReaderServices,
  RemoteError,
} from "./reader-services.js";
import { createBatchWriter, type WrittenBatch, withCopyConnection } from "./write-batches.js";

/** The bytes of an import, a part at a time. The signal also ends a wait for bytes that may never come. */
function openInput({ input, signal }: Pick<ImportOptions, "input" | "signal">) {
  const iterator = input[Symbol.asyncIterator]();
  let last: Promise<Buffer | null> = Promise.resolve(null);
  const read = async () => {
    signal?.throwIfAborted();
    const { done, value } = await orAborted(iterator.next(), signal);
    return done ? null : value;
  };
  return {
    /** @returns null at the end */
    next(): Promise<Buffer | null> {
      last = last.then(read);
      return last;
    },
    close(): void {
      // Not awaited: a silent input may never end either.
      iterator.return?.()?.catch(() => undefined);
    },
  };
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

/** Nothing of a line lives long, so a larger young generation only takes memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 };
const threadFile = new URL("./reader-thread.js", import.meta.url);

/** In a thread of its own; in this one without its compiled file beside, as in tests and the npm package. */
async function runReader(options: ReaderOptions, services: ReaderServices): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  const keep = (error: unknown) => {
    failure ??= { error };
  };
  try {
    await (existsSync(threadFile) ? runThread(options, services, keep) : runHere(options, services, keep));
  } catch (error) {
    throw failure ? failure.error : error;
  }
}

async function runThread(options: ReaderOptions, services: ReaderServices, onError: (error: unknown) => void) {
  const worker = new Worker(threadFile, { workerData: options, resourceLimits });
  answerCalls(worker, services, onError);
  try {
    await new Promise<void>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", (code) =>
        code === 0 ? resolve() : reject(new RemoteError("The reader's thread ended early")),
      );
    });
  } finally {
    await worker.terminate();
  }
}

async function runHere(options: ReaderOptions, services: ReaderServices, onError: (error: unknown) => void) {
  const { port1, port2 } = new MessageChannel();
  answerCalls(port1, services, onError);
  try {
    await readImport(options, callThrough<ReaderServices>(port2));
  } finally {
    port1.close();
  }
}

const tooEarly =
  "Older raw events were removed (EVENT_RETENTION_MONTHS), so nobody can tell whether this one is counted already";

/**
 * Records the events of a file or stream, in memory that does not grow with it. The same line is the same event: you may
 * import a file twice, run an interrupted import again, or overlap files, while identical lines inside one file are
 * separate events. It reads the next batch while it writes one.
 * @throws ImportSuspendedError, SiteDeletedError, or the error of the input, the database or the signal; recorded batches stay
 */
export async function importEvents(options: ImportOptions): Promise<ImportResult> {
  const progress = noProgress(options.format);
  await withConnection(options.pool, (reader) =>
    withEarlierLines(reader, (earlier) =>
      withCopyConnection(options.pool, (writer) => importLines(options, progress, { earlier, writer })),
    ),
  );
  options.onProgress?.({ ...progress });
  const { imported, rejected, duplicates, bots, machines } = progress;
  return { imported, rejected, duplicates, bots, machines };
}

/** A batch waits so long for the names of its addresses. */
const maxSettleMs = 2_000;

async function importLines(
  options: ImportOptions,
  progress: ImportProgress,
  { earlier, writer }: { earlier: EarlierLines; writer: pg.Client },
): Promise<void> {
  const { pool, site, now, signal, format, dropBots = false, machinesOnly = false, countries } = options;
  const salts = createSaltStore({ pool, ...(now && { now }) });
  const input = openInput(options);
  const write = createBatchWriter(writer, options);
  const settle = createClaimSettler(options.resolver);
  let horizon = await readHorizon(pool);
  let malformed = 0;
  const count = (counts: ReaderCounts) => {
    const rejected = progress.rejected - malformed + counts.rejected;
    malformed = counts.rejected;
    Object.assign(progress, counts, { rejected });
  };
  let writing: Promise<void> = Promise.resolve();
  let isOver = false;
  const services: ReaderServices = {
    async chunk() {
      const bytes = await input.next();
      progress.bytes += bytes?.length ?? 0;
      return bytes && new Uint8Array(bytes);
    },
    horizon: async () => horizon,
    async salts(days) {
      const found = await salts.saltsOf(days);
      return new Map(Array.from(found, ([day, salt]) => [day, new Uint8Array(salt)]));
    },
    readEarlier: (ids) => earlier.read(ids),
    async machines(version) {
      const { list } = await machinesOf(pool);
      return list.version === version ? null : list;
    },
    settle: async (claims) => claims.map(await settle(site.id, claims, maxSettleMs)),
    addEarlier: ({ ids, seen }) => earlier.add(ids, seen),
    async reject(rejections) {
      for (const rejection of rejections) options.onReject?.(rejection);
    },
    async take({ counts, ...encoded }) {
      await writing;
      signal?.throwIfAborted();
      if (isOver) throw new RemoteError("The reader has ended");
      count(counts);
      const batch = decodeBatch(site.id, encoded);
      writing = write(batch).then((written) => {
        horizon = written.horizon;
        report(options, progress, batch, written);
      });
      // The next round awaits it; until then its failure must not count as unhandled.
      writing.catch(() => undefined);
      return horizon;
    },
    async end(counts) {
      await writing;
      count(counts);
    },
    async flush(counts) {
      await services.end(counts);
      options.onFlush?.();
    },
  };
  try {
    const { id, domain } = site;
    await runReader({ site: { id, domain }, format, dropBots, machinesOnly, countries }, services);
  } finally {
    isOver = true;
    input.close();
    await writing.catch(() => undefined);
  }
}

function report(options: ImportOptions, progress: ImportProgress, batch: Batch, written: WrittenBatch): void {
  const { recorded, machines, early, horizon } = written;
  const lines = batch.events.length + batch.early.length + batch.machines.ids.length;
  progress.imported += recorded;
  progress.rejected += early.length;
  progress.machines += machines;
  progress.duplicates += lines - early.length - recorded - machines;
  for (const line of early) {
    options.onReject?.({ line, problem: `ts: Must not lie before ${horizon}. ${tooEarly}` });
  }
  options.onProgress?.({ ...progress });
}
