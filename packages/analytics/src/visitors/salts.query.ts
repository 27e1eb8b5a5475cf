import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type pg from "pg";

/** How long a salt lives (design, "Statistics"): a day's visitors are told apart that day, and by nobody afterwards. */
const saltLifeMs = 48 * 3_600_000;

/** An import that spans more days reads salts again. */
const maxCachedSalts = 2_000;

/** Salts by UTC day, `YYYY-MM-DD`. */
export type Salts = ReadonlyMap<string, Buffer>;

/** Gives the random salt of each UTC day, the same to every instance. */
export interface SaltStore {
  /** @param days UTC days; salts that do not exist yet, or are past their life, are made */
  saltsOf(days: Iterable<string>): Promise<Salts>;
}

/**
 * Makes a missing salt, replaces one past its life that nobody purged yet, and leaves any other alone. Probes of the
 * primary key. In the order of the days, so that two writers wait for each other instead of deadlocking.
 */
const createSaltsSql = `
  INSERT INTO visitor_salt (day, salt, created_at)
  SELECT day, salt, $3 FROM unnest($1::date[], $2::bytea[]) AS fresh (day, salt) ORDER BY day
  ON CONFLICT (day) DO UPDATE SET salt = EXCLUDED.salt, created_at = EXCLUDED.created_at
  WHERE visitor_salt.created_at <= $4`;

/** The salts in force, ours or those another instance made first. Probes of the primary key. */
const readSaltsSql = `
  SELECT day::text AS day, salt, extract(epoch FROM created_at) * 1000 AS "createdAt"
  FROM visitor_salt WHERE day = ANY($1::date[])`;

interface SaltRow {
  day: string;
  salt: Buffer;
  createdAt: string;
}

/** A store of salts with a cache that keeps none longer than it lives. */
export function createSaltStore({ pool, now = Date.now }: { pool: pg.Pool; now?: () => number }): SaltStore {
  // An entry is stale when it is older than its `ttl`; a salt dies at the very end of its life.
  const salts = new LRUCache<string, Buffer>({
    max: maxCachedSalts,
    ttl: saltLifeMs - 1,
    ttlResolution: 0,
    perf: { now },
  });

  async function load(days: readonly string[]): Promise<SaltRow[]> {
    const fresh = days.map(() => randomBytes(32));
    const deadline = new Date(now() - saltLifeMs);
    await pool.query(createSaltsSql, [days, fresh, new Date(now()), deadline]);
    const { rows } = await pool.query<SaltRow>(readSaltsSql, [days]);
    for (const { day, salt, createdAt } of rows) salts.set(day, salt, { start: Number(createdAt) });
    return rows;
  }

  return {
    async saltsOf(days) {
      salts.purgeStale();
      const found = new Map<string, Buffer>();
      const missing: string[] = [];
      for (const day of new Set(days)) {
        const salt = salts.get(day);
        if (salt) found.set(day, salt);
        else missing.push(day);
      }
      if (missing.length > 0) for (const { day, salt } of await load(missing.sort())) found.set(day, salt);
      return found;
    },
  };
}

/**
 * Destroys the salts made 48 hours ago or earlier. From then on nobody can tell which address a visitor had.
 * @returns how many
 */
export async function purgeSalts(pool: pg.Pool, now: Date): Promise<number> {
  // The table has a row for each of the last days, so that reading all of it is the quickest way.
  const { rowCount } = await pool.query("DELETE FROM visitor_salt WHERE created_at <= $1", [
    new Date(now.getTime() - saltLifeMs),
  ]);
  return rowCount ?? 0;
}
