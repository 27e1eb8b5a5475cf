import type pg from "pg";

/** Enough for a warning; counting millions would take a minute. */
const maxCountedTraces = 10_000;

/** Ranges of `site_account_id_idx`, `api_key_account_id_idx` and, up to a bound, `trace_pkey`. */
const countOwnedSql = `
  SELECT (SELECT count(*)::int FROM site WHERE account_id = $1) AS sites,
    (SELECT count(*)::int FROM api_key WHERE account_id = $1) AS keys,
    (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 LIMIT $2 + 1) AS counted) AS traces`;

export interface Owned {
  sites: number;
  keys: number;
  /** At most 10,000. */
  traces: number;
  hasMoreTraces: boolean;
}

/** Counts an account's sites, keys and traces, to warn before an erasure. */
export async function countOwned(pool: pg.Pool, accountId: string): Promise<Owned> {
  const { rows } = await pool.query<Record<"sites" | "keys" | "traces", number>>(countOwnedSql, [
    accountId,
    maxCountedTraces,
  ]);
  const { sites = 0, keys = 0, traces = 0 } = rows[0] ?? {};
  return { sites, keys, traces: Math.min(traces, maxCountedTraces), hasMoreTraces: traces > maxCountedTraces };
}
