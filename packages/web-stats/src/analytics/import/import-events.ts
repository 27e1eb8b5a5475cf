import { withConnection } from "@waymark/database";
import type pg from "pg";
import { readHorizon } from "../maintenance/event-horizon.query.js";
import { createSaltStore } from "../visitors/salts.query.js";
import { withCopyConnection } from "./copy-connection.js";
import { decodeBatch } from "./encoded-batch.js";
import { type ImportOptions, type ImportProgress, type ImportResult, noProgress } from "./import-options.js";
import type { EarlierLines } from "./occurrences.js";
import { withEarlierLines } from "./occurrences.query.js";
import { openInput } from "./open-input.js";
import { RemoteError } from "./port-calls.js";
import type { ReaderCounts, ReaderServices } from "./reader-services.js";
import { runReader } from "./start-reader.js";
import { createBatchWriter, type WrittenBatch } from "./write-batches.js";

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
  const { imported, rejected, duplicates, bots } = progress;
  return { imported, rejected, duplicates, bots };
}

async function importLines(
  options: ImportOptions,
  progress: ImportProgress,
  { earlier, writer }: { earlier: EarlierLines; writer: pg.Client },
): Promise<void> {
  const { pool, site, now, signal, format, dropBots = false, countries } = options;
  const salts = createSaltStore({ pool, ...(now && { now }) });
  const input = openInput(options);
  const write = createBatchWriter(writer, options);
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
        report(options, progress, batch.events.length + batch.early.length, written);
      });
      // The next round awaits it; until then its failure must not count as unhandled.
      writing.catch(() => undefined);
      return horizon;
    },
    async end(counts) {
      await writing;
      count(counts);
    },
  };
  try {
    await runReader({ site: { id: site.id, domain: site.domain }, format, dropBots, countries }, services);
  } finally {
    isOver = true;
    input.close();
    await writing.catch(() => undefined);
  }
}

/** Adds a written batch to the progress, and reports it with its early lines. */
function report(options: ImportOptions, progress: ImportProgress, lines: number, written: WrittenBatch): void {
  const { recorded, early, horizon } = written;
  progress.imported += recorded;
  progress.rejected += early.length;
  progress.duplicates += lines - early.length - recorded;
  for (const line of early) {
    options.onReject?.({ line, problem: `ts: Must not lie before ${horizon}. ${tooEarly}` });
  }
  options.onProgress?.({ ...progress });
}
