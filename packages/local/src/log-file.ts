import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

/** Two files of this size keep the last 10 to 20 MiB of an app. */
const maxLogBytes = 10 * 1_048_576;

/**
 * Opens a log for appending. A full log replaces `FILE.1`, and an empty one begins.
 * @param onFailure called for the first lost line, such as on a full disk; no later failure calls it or throws
 */
export function openLogFile(file: string, onFailure: (error: Error) => void, maxBytes = maxLogBytes) {
  let hasFailed = false;
  let log: { fd: number; bytes: number } | undefined;
  const open = () => {
    const fd = openSync(file, "a", 0o600);
    return { fd, bytes: fstatSync(fd).size };
  };
  const close = () => {
    if (log) closeSync(log.fd);
    log = undefined;
  };
  const write = (line: string) => {
    log ??= open();
    if (log.bytes >= maxBytes) {
      close();
      renameSync(file, `${file}.1`);
      log = open();
    }
    log.bytes += writeSync(log.fd, `${line}\n`);
  };
  return {
    write(line: string) {
      try {
        write(line);
      } catch (error) {
        if (!hasFailed) onFailure(error as Error);
        hasFailed = true;
      }
    },
    close,
  };
}
