import type { Queryable } from "@waymark/database";

/** Reads all sites: there are few, and a scan is fastest. */
const findSitesSql = `
  SELECT account_id AS "accountId", id AS "siteId" FROM site WHERE costs_until < $1::date ORDER BY account_id, id`;

interface FoundSite {
  accountId: string;
  siteId: string;
}

export async function findSitesToSum(pool: Queryable, day: string): Promise<readonly FoundSite[]> {
  return (await pool.query<FoundSite>(findSitesSql, [day])).rows;
}

/** A range of `trace_visit_pkey`. */
export async function hasRuns(pool: Queryable, accountId: string): Promise<boolean> {
  const { rowCount } = await pool.query("SELECT FROM trace_visit WHERE account_id = $1 LIMIT 1", [accountId]);
  return rowCount === 1;
}

/** A day's salt while it lives: a salt that came later is another one. A probe of `visitor_salt_pkey`. */
const findSaltSql =
  "SELECT salt FROM visitor_salt WHERE day = $1 AND created_at > $2::timestamptz - interval '48 hours'";

export async function findSalt(pool: Queryable, day: string, now: Date): Promise<Buffer | undefined> {
  return (await pool.query<{ salt: Buffer }>(findSaltSql, [day, now])).rows[0]?.salt;
}

/** Whether the site's day was not summed yet, nor switched off: then this transaction does. A probe of `site_pkey`. */
const claimDaySql = "UPDATE site SET costs_until = $2 WHERE id = $1 AND costs_until < $2::date";

export async function claimDay(client: Queryable, { siteId, day }: { siteId: string; day: string }): Promise<boolean> {
  return (await client.query(claimDaySql, [siteId, day])).rowCount === 1;
}
