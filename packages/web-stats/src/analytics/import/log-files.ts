import { Buffer } from "node:buffer";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";

export interface Place {
  /** Of the file's device and inode. */
  readonly inode: string;
  /** The byte after the last line. */
  readonly place: number;
  /** What was read before it, also of the file before: it tells the file from others, and identical lines apart. */
  readonly tail: Buffer;
}

const newline = 0x0a;

/** Bytes and lines of a part, which is one transaction of an import. */
const [maxPartBytes, maxPartLines] = [1_048_576, 2_000];
const maxTailBytes = 32_768;
/** Bytes before the place that tell a file from others. */
const markBytes = 256;

export interface LogTimes {
  /** Milliseconds between two looks at a log without news; default 500. */
  readonly idleMs?: number;
  /** A web server goes on writing into a renamed log until it opens the new one: so long without a line ends it; default 5,000. */
  readonly graceMs?: number;
}

interface OpenLog {
  readonly handle: FileHandle;
  readonly inode: string;
  readonly isCurrent: boolean;
}

async function openLog(file: string, isCurrent: boolean): Promise<OpenLog | undefined> {
  try {
    const handle = await open(file);
    const { dev, ino } = await handle.stat({ bigint: true });
    return { handle, inode: `${dev}:${ino}`, isCurrent };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function readAt({ handle }: OpenLog, place: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, place);
  return buffer.subarray(0, bytesRead);
}

/** Whether the bytes before a place are still those that were read. */
async function holds(log: OpenLog, { place, tail }: Place): Promise<boolean> {
  const mark = tail.subarray(-Math.min(markBytes, tail.length, place) || tail.length);
  if (place === 0) return true;
  return mark.equals(await readAt(log, place - mark.length, mark.length));
}

/** The rotated files of a log, oldest first, as logrotate names them; not those that it has packed. */
async function findRotated(path: string): Promise<{ file: string; changedAt: bigint }[]> {
  const [folder, name] = [dirname(path), basename(path)];
  const rotated = (await readdir(folder)).filter(
    (each) => each.startsWith(name) && /^[.-]\d[\d.-]*$/.test(each.slice(name.length)),
  );
  const found = await Promise.all(
    rotated.map(async (each) => {
      const file = join(folder, each);
      const { mtimeNs } = await stat(file, { bigint: true }).catch(() => ({ mtimeNs: undefined }));
      return mtimeNs === undefined ? [] : [{ file, changedAt: mtimeNs }];
    }),
  );
  return found.flat().sort((a, b) => (a.changedAt < b.changedAt ? -1 : 1));
}

/** The file with what was read: by its inode and bytes, or by its bytes alone, as a copy has; the log itself in any case. */
async function findLog(path: string, saved: Place): Promise<{ log: OpenLog; place: number } | undefined> {
  const rotated = (await findRotated(path)).map(({ file }) => file).reverse();
  for (const isSame of [(log: OpenLog) => log.inode === saved.inode, () => saved.place > 0]) {
    for (const file of [path, ...rotated]) {
      const log = await openLog(file, file === path);
      if (log && isSame(log) && (await holds(log, saved))) return { log, place: saved.place };
      await log?.handle.close();
    }
  }
  const log = await openLog(path, true);
  return log && { log, place: 0 };
}

/** The file after one that has ended: the oldest rotated one that changed later, else the log itself. */
async function openNext(path: string, ended: OpenLog): Promise<OpenLog | undefined> {
  const { mtimeNs } = await ended.handle.stat({ bigint: true });
  for (const { file, changedAt } of await findRotated(path)) {
    if (changedAt <= mtimeNs) continue;
    const log = await openLog(file, false);
    if (log && log.inode !== ended.inode) return log;
    await log?.handle.close();
  }
  return openLog(path, true);
}

/** Whole lines from a place, or what there is where the file has ended or a line has no end. */
async function readPart(log: OpenLog, at: Place, hasEnded: boolean): Promise<Buffer | undefined> {
  const bytes = await readAt(log, at.place, maxPartBytes);
  // A log that was emptied since holds other bytes.
  if (bytes.length === 0 || !(await holds(log, at))) return undefined;
  let end = -1;
  for (let lines = 0; lines < maxPartLines; lines++) {
    const next = bytes.indexOf(newline, end + 1);
    if (next < 0) break;
    end = next;
  }
  if (end >= 0) return bytes.subarray(0, end + 1);
  return hasEnded || bytes.length === maxPartBytes ? bytes : undefined;
}

function toTail(before: Buffer, bytes: Buffer): Buffer {
  const all = Buffer.concat([before, bytes]);
  if (all.length <= maxTailBytes) return all;
  const start = all.indexOf(newline, all.length - maxTailBytes) + 1;
  return Buffer.from(start > 0 && start < all.length ? all.subarray(start) : all.subarray(-markBytes));
}

interface Part {
  readonly bytes: Buffer;
  readonly at: Place;
}

/** Reads a log for ever, also its rotated files, in parts of whole lines; the next part once one is recorded. */
export async function* readLog(
  path: string,
  saved: Place | undefined,
  { signal, idleMs = 500, graceMs = 5_000 }: { signal: AbortSignal } & LogTimes,
): AsyncGenerator<Part> {
  let at: Place = saved ?? { inode: "", place: 0, tail: Buffer.alloc(0) };
  let log: OpenLog | undefined;
  let quietSince: number | undefined;
  const turnTo = async (next: OpenLog, place: number) => {
    await log?.handle.close();
    [log, quietSince] = [next, undefined];
    at = { ...at, inode: next.inode, place };
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      if (!log) {
        const found = await findLog(path, at);
        if (found) await turnTo(found.log, found.place);
        else await setTimeout(idleMs, undefined, { signal });
        continue;
      }
      const isOver = !log.isCurrent || (quietSince !== undefined && performance.now() - quietSince >= graceMs);
      const bytes = await readPart(log, at, isOver);
      if (bytes) {
        quietSince = quietSince === undefined ? undefined : performance.now();
        at = { ...at, place: at.place + bytes.length, tail: toTail(at.tail, bytes) };
        yield { bytes: bytes.at(-1) === newline || !isOver ? bytes : Buffer.concat([bytes, Buffer.from("\n")]), at };
        continue;
      }
      if (!(await holds(log, at))) {
        // Copied and emptied: a copy holds the rest.
        const found = await findLog(path, at);
        if (found) await turnTo(found.log, found.place);
        continue;
      }
      if (isOver) {
        const next = await openNext(path, log);
        if (next) {
          await turnTo(next, 0);
          continue;
        }
      }
      const present = await stat(path, { bigint: true }).catch(() => undefined);
      if (log.isCurrent && present && `${present.dev}:${present.ino}` !== log.inode) quietSince ??= performance.now();
      await setTimeout(idleMs, undefined, { signal });
    }
  } finally {
    await log?.handle.close();
  }
}
