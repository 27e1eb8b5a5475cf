import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type pg from "pg";

/** The first 64 bits of SHA-256 over a text in UTF-8, as a bigint of Postgres in text. */
export function hash64(text: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash("sha256", text, "hex").slice(0, 16)}`)).toString();
}

/** A UTC day's visitor by address and browser: 64 bits of SHA-256 over the day's salt, the site and both. */
export function hashVisitor(salt: Buffer, siteId: string, ip: string, userAgent: string): string {
  return hash64(`${salt.toString("hex")}\0${siteId}\0${ip}\0${userAgent}`);
}

/** A UTC day's visitor by an importer's pseudonym. Without salt, so that an import run again gives the same visitor. */
export function hashPseudonym(siteId: string, day: string, pseudonym: string): string {
  return hash64(`visitor\0${siteId}\0${day}\0${pseudonym}`);
}

/** Waymark recognizes a day's visitors on that day; after the salt's life nobody can (design, "Statistics"). */
const saltLifeMs = 48 * 3_600_000;

/** An import that spans more days reads salts again. */
const maxCachedSalts = 2_000;

/** By UTC day, `YYYY-MM-DD`. */
export type Salts = ReadonlyMap<string, Buffer>;

/** Gives the random salt of each UTC day, the same to every instance. */
export interface SaltStore {
  /** @param days UTC days; missing and expired salts are made anew */
  saltsOf(days: Iterable<string>): Promise<Salts>;
}

/**
 * Makes missing salts, replaces expired ones, and leaves others alone, by probes of the primary key. In the order of days, so
 * two writers wait for each other instead of deadlocking.
 */
const createSaltsSql = `
  INSERT INTO visitor_salt (day, salt, created_at)
  SELECT day, salt, $3 FROM unnest($1::date[], $2::bytea[]) AS fresh (day, salt) ORDER BY day
  ON CONFLICT (day) DO UPDATE SET salt = EXCLUDED.salt, created_at = EXCLUDED.created_at
  WHERE visitor_salt.created_at <= $4`;

/** The valid salts, from whichever instance made them. Probes of the primary key. */
const readSaltsSql = `
  SELECT day::text AS day, salt, extract(epoch FROM created_at) * 1000 AS "createdAt"
  FROM visitor_salt WHERE day = ANY($1::date[])`;

interface SaltRow {
  day: string;
  salt: Buffer;
  createdAt: string;
}

/** A store with a cache that keeps no salt longer than its life. */
export function createSaltStore({ pool, now = Date.now }: { pool: pg.Pool; now?: () => number }): SaltStore {
  // lru-cache drops an entry when its age exceeds the `ttl`; a salt dies at the end of its life.
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

/** Destroys salts of 48 hours and older. From then on nobody can find out a visitor's address. */
export async function purgeSalts(pool: pg.Pool, now: Date): Promise<number> {
  // The table has a row for each of the last days, so reading all of it is fastest.
  const { rowCount } = await pool.query("DELETE FROM visitor_salt WHERE created_at <= $1", [
    new Date(now.getTime() - saltLifeMs),
  ]);
  return rowCount ?? 0;
}
