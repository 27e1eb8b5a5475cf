import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/** A probe of `site_pkey`. Writers of one site's goals or funnels wait for each other, so their bounds are exact. */
const lockSiteSql = "SELECT FROM site WHERE id = $1 FOR NO KEY UPDATE";

/** @throws AppError 404 when there is no such site */
export async function lockSite(transaction: pg.ClientBase, siteId: string): Promise<void> {
  const { rowCount } = isUuid(siteId) ? await transaction.query(lockSiteSql, [siteId]) : { rowCount: 0 };
  if (rowCount !== 1) throw new AppError("site_not_found");
}
