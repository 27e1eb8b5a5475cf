import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/** A site as the API answers it (statistics contract, "Site"). */
interface Site {
  id: string;
  domain: string;
  name: string;
}

/** The account's sites, oldest first, by the index on `account_id`. */
const listSitesSql = "SELECT id, domain, name FROM site WHERE account_id = $1 ORDER BY id";

/** A row when the account has the site: one probe of `site_pkey`. */
const ownsSiteSql = "SELECT FROM site WHERE id = $2 AND account_id = $1";

export async function listSites(pool: pg.Pool, accountId: string): Promise<Site[]> {
  const { rows } = await pool.query<Site>({ name: "list-sites", text: listSitesSql, values: [accountId] });
  return rows;
}

/** @throws AppError 404 when the account has no site with the id: it is unknown, another account's or no UUID */
export async function requireSite(pool: pg.Pool, accountId: string, siteId: string): Promise<void> {
  if (isUuid(siteId)) {
    const { rowCount } = await pool.query({ name: "owns-site", text: ownsSiteSql, values: [accountId, siteId] });
    if (rowCount === 1) return;
  }
  throw new AppError("site_not_found");
}
