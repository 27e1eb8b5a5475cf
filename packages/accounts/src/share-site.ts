import { isUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { AccountError } from "./account-error.js";
import { issueKey } from "./keys.js";

/** A key that reads one site's statistics. Only this answer has `key`. */
export interface SharedKey {
  id: string;
  key: string;
  expires_at: string | null;
}

/** A probe of `site_pkey`. */
const ownerOfSiteSql = 'SELECT account_id AS "accountId" FROM site WHERE id = $1';

/**
 * Shares a site's statistics by a key of its account. The key ends with the site, at `expiresAt` where it has one, or when it
 * is revoked.
 * @throws AccountError `unknown_site`, `invalid_name`, `too_many_keys`
 */
export function shareSite(
  pool: pg.Pool,
  { siteId, name, expiresAt }: { siteId: string; name: string; expiresAt: Date | null },
): Promise<SharedKey> {
  return withTransaction(pool, async (transaction) => {
    const { rows } = isUuid(siteId)
      ? await transaction.query<{ accountId: string }>(ownerOfSiteSql, [siteId])
      : { rows: [] };
    if (!rows[0]) throw new AccountError("unknown_site", `There is no site '${siteId}'.`);
    const { accountId } = rows[0];
    const share = { siteId, expiresAt };
    const { id, key } = await issueKey(transaction, { accountId, service: "analytics", name, share });
    return { id, key, expires_at: expiresAt?.toISOString() ?? null };
  });
}
