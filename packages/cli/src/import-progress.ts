import { performance } from "node:perf_hooks";
import type { Writable } from "node:stream";
import type { ImportProgress } from "@waymark/analytics";
import cliProgress from "cli-progress";

/** Shows how far an import or an export is. */
export interface ProgressDisplay {
  update(progress: Readonly<Pick<ImportProgress, "bytes" | "lines">>): void;
  /** Takes the display off the screen, so that text can follow. */
  close(): void;
}

/**
 * A progress bar on a terminal; nothing where the stream is none, since a log file wants no bar.
 * @param activity what is going on, such as `Importing`
 * @param totalBytes undefined where the size is not known: then lines are counted without an end
 */
export function showProgress(
  stream: Writable & { isTTY?: boolean },
  totalBytes: number | undefined,
  activity = "Importing",
): ProgressDisplay {
  if (!stream.isTTY) return { update: () => undefined, close: () => undefined };
  const started = performance.now();
  const bar = new cliProgress.SingleBar(
    {
      stream,
      clearOnComplete: true,
      hideCursor: true,
      format: (options, params, payload: { lines?: number }) => {
        const lines = payload.lines ?? 0;
        const perSecond = Math.round(lines / Math.max(0.001, (performance.now() - started) / 1000));
        const counts = `${number(lines)} lines, ${number(perSecond)} a second`;
        if (totalBytes === undefined) return `${activity}: ${counts}`;
        const percent = Math.floor(params.progress * 100);
        return `${activity} ${cliProgress.Format.BarFormat(params.progress, options)} ${percent} %, ${counts}`;
      },
    },
    cliProgress.Presets.shades_classic,
  );
  bar.start(totalBytes ?? 1, 0, { lines: 0 });
  return {
    update: ({ bytes, lines }) => bar.update(totalBytes === undefined ? 0 : Math.min(bytes, totalBytes), { lines }),
    close: () => bar.stop(),
  };
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
