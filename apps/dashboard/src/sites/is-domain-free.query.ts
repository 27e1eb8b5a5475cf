import { bareDomain } from "@waymark/accounts";
import type pg from "pg";

/** One probe of `site_domain_pkey`. */
const isDomainFreeSql = "SELECT NOT EXISTS (SELECT FROM site_domain WHERE domain = $1) AS free";

export async function isDomainFree(pool: pg.Pool, domain: string): Promise<boolean> {
  const { rows } = await pool.query<{ free: boolean }>(isDomainFreeSql, [bareDomain(domain)]);
  return rows[0]?.free === true;
}
