import { isContestedSql, maxSitesPerDomain } from "@waymark/web-stats/analytics";
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

/** Inserts or locks one row by `site_domain_pkey`, and returns the holder. The operator's word is a proof. */
const claimSql = `
  INSERT INTO site_domain AS claim (domain, account_id, is_proven) VALUES ($1, $2, $3)
  ON CONFLICT (domain) DO UPDATE SET is_proven = claim.is_proven OR EXCLUDED.is_proven RETURNING account_id`;

/** The account's sites of a domain and those that get its events, besides one, by `site_domain_idx`. */
const countSitesSql = `
  SELECT count(*)::int AS sites FROM site
  WHERE domain IN ($1, 'www.' || $1) AND (account_id = $2 OR is_proven) AND id IS DISTINCT FROM $3::uuid`;

/** Other writers of the domain wait until the transaction ends. @throws AccountError `domain_taken`, `domain_full` */
export async function takeDomain(
  transaction: pg.ClientBase,
  { accountId, domain, siteId }: DomainOf,
  whenTaken: WhenTaken,
): Promise<{ isProven: boolean; sites: number }> {
  const bare = bareDomain(domain);
  const claim = await transaction.query<{ account_id: string }>(claimSql, [bare, accountId, whenTaken !== "wait"]);
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
  INSERT INTO site_domain (domain, account_id, is_proven) VALUES ($1, $2, $3)
  ON CONFLICT (domain) DO UPDATE
    SET account_id = EXCLUDED.account_id, is_proven = EXCLUDED.is_proven, created_at = now()`;

/** The account's sites get the events, others wait; the collector follows in ten seconds. By `site_domain_idx`. */
const moveEventsSql = `
  UPDATE site SET is_proven = (account_id = $2)
  WHERE domain IN ($1, 'www.' || $1) AND is_proven <> (account_id = $2) AND ($3 OR account_id = $2)
  RETURNING account_id`;

export interface DomainMove {
  /** Leaves others their events. */
  isShared: boolean;
  /** False where the domain was free. */
  isProven?: boolean;
}

/** Gives a domain's further events to an account. @returns accounts with sites that wait now */
export async function moveDomain(
  transaction: pg.ClientBase,
  { accountId, domain }: DomainOf,
  { isShared, isProven = true }: DomainMove,
): Promise<string[]> {
  const bare = bareDomain(domain);
  if (isShared) await transaction.query(claimSql, [bare, accountId, true]);
  else await transaction.query(moveClaimSql, [bare, accountId, isProven]);
  const { rows } = await transaction.query<{ account_id: string }>(moveEventsSql, [bare, accountId, !isShared]);
  return [...new Set(rows.map(({ account_id }) => account_id))].filter((id) => id !== accountId);
}

/** A site of a domain with too many sites or several accounts: made by an older version, by hand, or as shared. */
export interface DomainConflict {
  id: string;
  domain: string;
  older: number;
  /** Another account has a site with the domain, with or without `www.`. */
  isShared: boolean;
  /** False while the site gets no events, since another account has the domain. */
  isProven: boolean;
}

const bareSql = "regexp_replace(site.domain, '^(www[.])+', '')";

/** SQL: whether a row of `site` gets its domain's events. */
export const receivesSql = `(site.is_proven AND NOT ${isContestedSql(bareSql)})`;

/** SQL: whether a site gets them, and no other account's claim can end that. A probe of `site_domain_pkey`. */
export const isSettledSql = `(site.is_proven AND NOT EXISTS (
  SELECT FROM site_domain claim WHERE claim.domain = ${bareSql} AND NOT claim.is_proven))`;

const maxUnprovenSites = 5;

const countUnprovenSql = `
  SELECT count(*)::int AS sites FROM site JOIN account ON account.id = site.account_id
  WHERE site.account_id = $1 AND account.plan = 'free' AND NOT ${isSettledSql}`;

/** A stranger may claim only few domains. A range of `site_account_id_idx`. @throws AccountError `too_many_unproven` */
export async function admitUnproven(transaction: pg.ClientBase, accountId: string): Promise<void> {
  const { rows } = await transaction.query<{ sites: number }>(countUnprovenSql, [accountId]);
  if ((rows[0]?.sites ?? 0) < maxUnprovenSites) return;
  const message = `A Free account has at most ${maxUnprovenSites} sites of unproven domains. Prove one first.`;
  throw new AccountError("too_many_unproven", message, { limit: maxUnprovenSites });
}

/** The account's sites by `site_account_id_idx`; for each one its domain's sites with events by `site_domain_idx`. */
const findConflictsSql = `
  SELECT id, domain, older, "isShared", "isProven"
  FROM (SELECT id, domain, account_id, ${receivesSql} AS "isProven", regexp_replace(domain, '^(www[.])+', '') AS bare FROM site) AS mine
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE domain = mine.domain AND id < mine.id)::int AS older,
      COALESCE(bool_or(account_id <> mine.account_id), false) AS "isShared"
    FROM site WHERE domain IN (mine.domain, mine.bare, 'www.' || mine.bare) AND is_proven
  ) AS same
  WHERE mine.account_id = $1 AND (older >= $2 OR "isShared" OR NOT "isProven")
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
