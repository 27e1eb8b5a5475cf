import type pg from "pg";
import { type ImportOptions, type ImportProgress, type ImportResult, noProgress } from "./import-options.js";
import { readBatches } from "./read-batches.js";
import { createBatchWriter, type WrittenBatch } from "./write-batches.js";

/** Milliseconds that a transaction may be idle: a process suspended within a batch must not keep its site locked. */
const maxIdleMs = 5_000;
/** SQLSTATE idle_in_transaction_session_timeout: Postgres ended the session. */
const idleInTransaction = "25P03";

const tooEarly =
  "Older raw events were removed (EVENT_RETENTION_MONTHS), so nobody can tell whether this one is counted already";

/** The process was suspended within a batch, and the database undid that batch. */
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

/**
 * Records the events of a file or stream, in memory that does not grow with it. The same line is the same event: you may
 * import a file twice, run an interrupted import again, or overlap files, while identical lines inside one file are
 * separate events. It reads the next batch while it writes one.
 * @throws ImportSuspendedError, or the error of the input, the database or the signal; recorded batches stay
 */
export async function importEvents(options: ImportOptions): Promise<ImportResult> {
  const progress = noProgress(options.format);
  const client = await options.pool.connect();
  // A connection that breaks between two statements emits an event; the next statement fails all the same.
  let wasSuspended = false;
  const onError = (error: Error) => {
    wasSuspended ||= isSuspension(error);
  };
  client.on("error", onError);
  let writing: Promise<void> = Promise.resolve();
  try {
    await client.query(`SET idle_in_transaction_session_timeout = ${maxIdleMs}`);
    const write = await createBatchWriter(client, options);
    for await (const batch of readBatches(options, progress)) {
      await writing;
      writing = write(batch).then((written) => report(options, progress, batch.length, written));
      // The next round awaits it; until then its failure must not count as unhandled.
      writing.catch(() => undefined);
    }
    await writing;
  } catch (error) {
    if (wasSuspended || isSuspension(error)) throw new ImportSuspendedError(error);
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

/** Adds a written batch to the progress, and reports it with its early lines. */
function report(options: ImportOptions, progress: ImportProgress, lines: number, written: WrittenBatch): void {
  const { recorded, early, horizon } = written;
  progress.imported += recorded;
  progress.rejected += early.length;
  progress.duplicates += lines - early.length - recorded;
  for (const { number } of early) {
    options.onReject?.({ line: number, problem: `ts: Must not lie before ${horizon}. ${tooEarly}` });
  }
  options.onProgress?.({ ...progress });
}

function isSuspension(error: unknown): boolean {
  return (error as { code?: unknown }).code === idleInTransaction;
}

/** Gives the connection back to the pool, or closes it with its table where it cannot drop that. */
async function releaseWithoutTable(client: pg.PoolClient): Promise<void> {
  try {
    await client.query("DROP TABLE IF EXISTS pg_temp.import_line; RESET idle_in_transaction_session_timeout");
    client.release();
  } catch {
    client.release(true);
  }
}
