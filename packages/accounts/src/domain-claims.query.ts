import { maxSitesPerDomain } from "@waymark/analytics";
import type pg from "pg";
import { AccountError } from "./account-error.js";

interface DomainOf {
  accountId: string;
  domain: string;
  /** The site to get the domain; it may have it already, such as with `www.` */
  siteId?: string | undefined;
}

/** A domain of another account is refused, shared by the operator's word, or without events until a proof. */
export type WhenTaken = "refuse" | "share" | "wait";

/** Inserts or locks one row by `site_domain_pkey`. The update changes nothing: it returns the holder. */
const claimSql = `
  INSERT INTO site_domain AS claim (domain, account_id) VALUES ($1, $2)
  ON CONFLICT (domain) DO UPDATE SET account_id = claim.account_id RETURNING account_id`;

/** The account's sites of a domain and those that get its events, besides one, by `site_domain_idx`. */
const countSitesSql = `
  SELECT count(*)::int AS sites FROM site
  WHERE domain IN ($1, 'www.' || $1) AND (account_id = $2 OR is_proven) AND id IS DISTINCT FROM $3::uuid`;

/**
 * Claims a domain for an account's site. Its other writers wait until the transaction ends, so `createSite`'s rules hold exactly.
 * @returns `isProven`: the site gets the domain's events; `sites`: the number of other sites with it
 * @throws AccountError `domain_taken`, `domain_full`
 */
export async function takeDomain(
  transaction: pg.ClientBase,
  { accountId, domain, siteId }: DomainOf,
  whenTaken: WhenTaken,
): Promise<{ isProven: boolean; sites: number }> {
  const bare = bareDomain(domain);
  const claim = await transaction.query<{ account_id: string }>(claimSql, [bare, accountId]);
  const isHolder = claim.rows[0]?.account_id === accountId;
  if (!isHolder && whenTaken === "refuse") {
    throw new AccountError("domain_taken", `The domain ${domain} belongs to another account, which has a site for it.`);
  }
  // A second statement, since it sees the rows committed while the first one waited.
  const { rows } = await transaction.query<{ sites: number }>(countSitesSql, [bare, accountId, siteId ?? null]);
  const sites = rows[0]?.sites ?? 0;
  if (sites >= maxSitesPerDomain) {
    const message = `The domain ${domain} has ${sites} sites, and at most ${maxSitesPerDomain} get its events.`;
    throw new AccountError("domain_full", message);
  }
  return { isProven: isHolder || whenTaken === "share", sites };
}

/** One probe of `site_domain_pkey`. */
const moveClaimSql = `
  INSERT INTO site_domain (domain, account_id) VALUES ($1, $2)
  ON CONFLICT (domain) DO UPDATE SET account_id = EXCLUDED.account_id, created_at = now()`;

/** The account's sites get the events, others wait; the collector follows in ten seconds. By `site_domain_idx`. */
const moveEventsSql = `
  UPDATE site SET is_proven = (account_id = $2)
  WHERE domain IN ($1, 'www.' || $1) AND is_proven <> (account_id = $2) AND ($3 OR account_id = $2)
  RETURNING account_id`;

/** Gives a domain's further events to an account; `isShared` leaves others theirs. @returns accounts with sites that wait now */
export async function moveDomain(
  transaction: pg.ClientBase,
  { accountId, domain }: DomainOf,
  { isShared }: { isShared: boolean },
): Promise<string[]> {
  const bare = bareDomain(domain);
  if (isShared) await transaction.query(claimSql, [bare, accountId]);
  else await transaction.query(moveClaimSql, [bare, accountId]);
  const { rows } = await transaction.query<{ account_id: string }>(moveEventsSql, [bare, accountId, !isShared]);
  return [...new Set(rows.map(({ account_id }) => account_id))].filter((id) => id !== accountId);
}

/** A site of a domain with too many sites or several accounts: made by an older version, by hand, or as shared. */
export interface DomainConflict {
  id: string;
  domain: string;
  /** Older sites with the same domain. */
  older: number;
  /** Another account has a site with the domain, with or without `www.`. */
  isShared: boolean;
  /** False while the site gets no events, since another account has the domain. */
  isProven: boolean;
}

/** The account's sites by `site_account_id_idx`; for each one its domain's sites with events by `site_domain_idx`. */
const findConflictsSql = `
  SELECT id, domain, older, "isShared", is_proven AS "isProven"
  FROM (SELECT id, domain, account_id, is_proven, regexp_replace(domain, '^(www[.])+', '') AS bare FROM site) AS mine
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE domain = mine.domain AND id < mine.id)::int AS older,
      COALESCE(bool_or(account_id <> mine.account_id), false) AS "isShared"
    FROM site WHERE domain IN (mine.domain, mine.bare, 'www.' || mine.bare) AND is_proven
  ) AS same
  WHERE mine.account_id = $1 AND (older >= $2 OR "isShared" OR NOT is_proven)
  ORDER BY id`;

/** The account's sites on another account's domain, and those beyond the ten sites of a domain that get its events. */
export async function findDomainConflicts(pool: pg.Pool, accountId: string): Promise<DomainConflict[]> {
  const { rows } = await pool.query<DomainConflict>(findConflictsSql, [accountId, maxSitesPerDomain]);
  return rows;
}

/** A page at `www.example.com` also reports to the sites of `example.com`, so both are one claim. */
export function bareDomain(domain: string): string {
  return domain.replace(/^(www\.)+/, "");
}
