import type pg from "pg";

/** Enough for a warning; counting millions would take a minute. */
const maxCountedTraces = 10_000;

/** Ranges of `site_account_id_idx`, `api_key_account_id_idx`, each site's goals and funnels and, up to a bound, `trace_pkey`. */
const countOwnedSql = `
  SELECT (SELECT count(*)::int FROM site WHERE account_id = $1) AS sites,
    (SELECT count(*)::int FROM api_key WHERE account_id = $1) AS keys,
    (SELECT count(*)::int FROM goal WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS funnels,
    (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 LIMIT $2 + 1) AS counted) AS traces`;

const countOwnedBySiteSql = `
  SELECT (SELECT count(*)::int FROM goal WHERE site_id = $1) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id = $1) AS funnels`;

export interface OwnedBySite {
  goals: number;
  funnels: number;
}

export interface Owned extends OwnedBySite {
  sites: number;
  keys: number;
  /** At most 10,000. */
  traces: number;
  hasMoreTraces: boolean;
}

/** Counts what an account has, to warn before an erasure. */
export async function countOwned(pool: pg.Pool, accountId: string): Promise<Owned> {
  const { rows } = await pool.query<Record<"sites" | "keys" | "goals" | "funnels" | "traces", number>>(countOwnedSql, [
    accountId,
    maxCountedTraces,
  ]);
  const { traces = 0, sites = 0, keys = 0, goals = 0, funnels = 0 } = rows[0] ?? {};
  const counted = { traces: Math.min(traces, maxCountedTraces), hasMoreTraces: traces > maxCountedTraces };
  return { sites, keys, goals, funnels, ...counted };
}

/** Counts a site's goals and funnels, to warn before an erasure. */
export async function countOwnedBySite(pool: pg.Pool, siteId: string): Promise<OwnedBySite> {
  const { rows } = await pool.query<OwnedBySite>(countOwnedBySiteSql, [siteId]);
  return rows[0] ?? { goals: 0, funnels: 0 };
}
