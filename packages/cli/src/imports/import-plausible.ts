import { importRollups } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { type CommandContext, interruptedExitCode, type Outcome } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { untilInterrupted } from "../context/until-interrupted.js";
import { formatCount } from "../output/number-text.js";
import { showProgress } from "../output/progress.js";
import { findFile } from "./import-input.js";
import { openRejectionReport } from "./rejections.js";
import { readZip } from "./zip-file.js";

interface PlausibleImport {
  readonly pool: pg.Pool;
  readonly site: { id: string; domain: string };
  /** The zip archive. */
  readonly file: string;
  readonly rejects: string | undefined;
}

/** Records the daily figures of Plausible's export. Its counts are of days, but those of records that were rejected. */
export async function importPlausible(
  context: CommandContext,
  { pool, site, file, rejects }: PlausibleImport,
): Promise<Outcome> {
  if (file === "-") throw new CommandError("An export of Plausible is a zip archive: --file wants a file.");
  await findFile(file);
  const files = await readZip(file);
  if (!files.some(({ name }) => /(?:^|\/)imported_visitors[^/]*\.csv$/.test(name))) {
    throw new CommandError(`'${file}' has no file imported_visitors….csv, so it is no export of Plausible.`);
  }
  const rejections = await openRejectionReport(rejects);
  const display = showProgress(context.stderr, "Importing");
  let counts = { imported: 0, rejected: 0, duplicates: 0 };
  const work = (signal: AbortSignal) =>
    importRollups({
      pool,
      site,
      files,
      signal,
      onReject: rejections.add,
      onProgress: (progress) => {
        const { imported, rejected, duplicates } = progress;
        counts = { imported, rejected, duplicates };
        display.update(progress);
      },
    });
  let isComplete = false;
  try {
    isComplete = await untilInterrupted(context, display, async (signal) => void (await work(signal)));
  } finally {
    await rejections.finish(context.stderr);
  }
  const text = [
    `${formatCount(counts.imported)} days imported`,
    `${formatCount(counts.rejected)} records rejected`,
    `${formatCount(counts.duplicates)} days with figures already`,
  ].join(", ");
  const isAllRejected = counts.rejected > 0 && counts.imported + counts.duplicates === 0;
  if (isComplete && isAllRejected) context.stderr.write("Every record was rejected, so nothing was imported.\n");
  if (isComplete) return { value: counts, text: `Done: ${text}.`, exitCode: isAllRejected ? 1 : 0 };
  context.stderr.write("Stopped. What was imported stays; run the same command again to go on.\n");
  return { value: counts, text: `Until then: ${text}.`, exitCode: interruptedExitCode };
}
