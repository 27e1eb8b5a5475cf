import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/** A site as the API answers it (statistics contract, "Site"). */
export interface Site {
  id: string;
  domain: string;
  name: string;
}

/** The account's sites, oldest first, by the index on `account_id`. */
const listSitesSql = "SELECT id, domain, name FROM site WHERE account_id = $1 ORDER BY id";

/** The site when the account has it: one probe of `site_pkey`. */
const ownSiteSql = "SELECT id, domain, name FROM site WHERE id = $2 AND account_id = $1";

export async function listSites(pool: pg.Pool, accountId: string): Promise<Site[]> {
  const { rows } = await pool.query<Site>({ name: "list-sites", text: listSitesSql, values: [accountId] });
  return rows;
}

/** @throws AppError 404 when the account has no site with the id: it is unknown, another account's or no UUID */
export async function requireSite(pool: pg.Pool, accountId: string, siteId: string): Promise<Site> {
  if (isUuid(siteId)) {
    const { rows } = await pool.query<Site>({ name: "own-site", text: ownSiteSql, values: [accountId, siteId] });
    if (rows[0]) return rows[0];
  }
  throw new AppError("site_not_found");
}
