import { performance } from "node:perf_hooks";
import type { Writable } from "node:stream";
import cliProgress from "cli-progress";
import { formatCount } from "./terminal-text.js";

type Terminal = Writable & { isTTY?: boolean };

/** Shows how many lines are done. */
export interface ProgressDisplay {
  update(progress: Readonly<{ bytes: number; lines: number }>): void;
  /** Clears the display, so that text can follow. */
  close(): void;
}

/**
 * A progress bar on a terminal; nothing on other streams, so that log files get no bar.
 * @param activity such as `Importing`
 * @param totalBytes undefined for an unknown size: the display then counts lines without an end
 */
export function showProgress(stream: Terminal, activity: string, totalBytes?: number): ProgressDisplay {
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
        const counts = `${formatCount(lines)} lines, ${formatCount(perSecond)} a second`;
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

/** Shows what is being done, as one line that changes. */
export interface StatusDisplay {
  update(text: string): void;
  /** Clears the line, so that text can follow. */
  close(): void;
}

/** A line on a terminal; nothing on other streams. */
export function showStatus(stream: Terminal): StatusDisplay {
  const write = (text: string) => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
  return { update: write, close: () => write("") };
}
