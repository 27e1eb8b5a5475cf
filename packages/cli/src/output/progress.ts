import { performance } from "node:perf_hooks";
import type { Writable } from "node:stream";
import cliProgress from "cli-progress";
import { formatCount } from "./terminal-text.js";

type Terminal = Writable & { isTTY?: boolean };

/**
 * A progress bar on a terminal; nothing on other streams, so that log files get no bar.
 * @param activity such as `Importing`
 * @param totalBytes undefined for an unknown size: the display then counts lines without an end
 * @returns functions to tell how many lines are done, and to clear the display so that text can follow
 */
export function showProgress(stream: Terminal, activity: string, totalBytes?: number) {
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
    update: ({ bytes, lines }: Readonly<{ bytes: number; lines: number }>) =>
      bar.update(totalBytes === undefined ? 0 : Math.min(bytes, totalBytes), { lines }),
    close: () => bar.stop(),
  };
}

/** Shows on a terminal what is being done, as one line that changes; `close` clears it. */
export function showStatus(stream: Terminal) {
  const update = (text: string) => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
  return { update, close: () => update("") };
}
