import type pg from "pg";

/** Traces are counted up to here: a person who deletes an account wants an idea, not a minute's wait. */
const maxCounted = 10_000;

/** What an account has. Ranges of `site_account_id_idx`, `api_key_account_id_idx` and, up to a bound, `trace_pkey`. */
const countOwnedSql = `
  SELECT (SELECT count(*)::int FROM site WHERE account_id = $1) AS sites,
    (SELECT count(*)::int FROM api_key WHERE account_id = $1) AS keys,
    (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 LIMIT $2 + 1) AS counted) AS traces`;

/** What an account has, as words such as `1 key`; many traces as `more than 10,000 traces`. */
export async function countOwned(
  pool: pg.Pool,
  accountId: string,
): Promise<Record<"sites" | "keys" | "traces", string>> {
  const { rows } = await pool.query<{ sites: number; keys: number; traces: number }>(countOwnedSql, [
    accountId,
    maxCounted,
  ]);
  const { sites = 0, keys = 0, traces = 0 } = rows[0] ?? {};
  const most = `more than ${maxCounted.toLocaleString("en-US")} traces`;
  return {
    sites: inWords(sites, "site"),
    keys: inWords(keys, "key"),
    traces: traces > maxCounted ? most : inWords(traces, "trace"),
  };
}

function inWords(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
