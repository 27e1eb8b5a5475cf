import { Buffer } from "node:buffer";
import type pg from "pg";
import { importEvents } from "./import-events.js";
import { type LogTimes, type Place, readLog } from "./log-files.js";
import type { ImportOptions, ImportResult } from "./reader-services.js";

export class FollowedTwiceError extends Error {
  override name = "FollowedTwiceError";

  constructor(path: string) {
    super(`Another process follows ${path} for this site.`);
  }
}

/** Probes of `followed_log_pkey`. */
const findSql = "SELECT inode, place::float8 AS place, tail FROM followed_log WHERE (site_id, path) = ($1, $2)";
const saveSql = `
  INSERT INTO followed_log AS old (site_id, path, inode, place, tail) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (site_id, path) DO UPDATE
  SET (inode, place, tail, updated_at) = (EXCLUDED.inode, EXCLUDED.place, EXCLUDED.tail, now())
  WHERE (old.inode, old.place) = ($6, $7)`;

type FollowOptions = Omit<ImportOptions, "input" | "onBatch" | "onFlush" | "signal"> & {
  readonly path: string;
  readonly signal: AbortSignal;
} & LogTimes;

/**
 * Records a growing log until the signal, through rotations and restarts, each line once: the place in the log is saved in the
 * transaction of the lines before it. After a start, the lines just before the place come again, and change nothing: an import
 * numbers identical lines.
 * @throws FollowedTwiceError, the signal's reason, or an error of `importEvents`
 */
export async function followLog(options: FollowOptions): Promise<ImportResult> {
  const { pool, site, path } = options;
  const { rows } = await pool.query<Place>(findSql, [site.id, path]);
  let saved = rows[0];
  let next: Place | undefined;
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  let isSaved = false;
  let flushed = () => {};
  const untilFlushed = () => {
    const flush = new Promise<void>((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      flushed = () => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
    });
    // Awaited once the reader has the part; until then its failure must not count as unhandled.
    flush.catch(() => undefined);
    return flush;
  };

  async function save(client: pg.ClientBase | pg.Pool): Promise<void> {
    if (!next) return;
    const { inode, place, tail } = next;
    const values = [site.id, path, inode, place, tail, saved?.inode ?? null, saved?.place ?? null];
    const { rowCount } = await client.query(saveSql, values);
    if (rowCount === 0) throw new FollowedTwiceError(path);
  }

  async function* record(bytes: Buffer): AsyncGenerator<Buffer> {
    const flush = untilFlushed();
    yield bytes;
    yield Buffer.alloc(0);
    await flush;
  }

  async function* readInput(): AsyncGenerator<Buffer> {
    if (saved && saved.tail.length > 0) yield* record(Buffer.concat([saved.tail, Buffer.from("\n")]));
    for await (const { bytes, at } of readLog(path, saved, { ...options, signal })) {
      [next, isSaved] = [at, false];
      yield* record(bytes);
      // A part without a good line has no transaction of its own.
      if (!isSaved) await save(pool);
      saved = at;
    }
  }

  try {
    return await importEvents({
      ...options,
      signal,
      input: readInput(),
      onFlush: () => flushed(),
      async onBatch(client) {
        await save(client);
        isSaved = next !== undefined;
      },
    });
  } finally {
    stop.abort();
  }
}
