import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { AccountError } from "./account-error.js";
import { admitUnproven, type DomainMove, moveDomain, takeDomain, type WhenTaken } from "./domain-claims.query.js";
import { lockAccount, requireAccount } from "./lock-account.query.js";
import { readName } from "./name.js";
import { normaliseDomain } from "./site-domain.js";

export interface Site {
  id: string;
  domain: string;
  name: string;
}

/** A site of the account; an operator names no account. */
export interface SiteReference {
  siteId: string;
  accountId?: string;
}

export const maxSitesPerAccount = 200;

const uuid = createUuidV7();

/** A range of `site_account_id_idx`. */
const countSitesSql = "SELECT count(*)::int AS sites FROM site WHERE account_id = $1";

const insertSiteSql = "INSERT INTO site (id, account_id, domain, name, is_proven) VALUES ($1, $2, $3, $4, $5)";

/**
 * Creates a site. A domain belongs to the first account that has a site for it, and has at most ten sites.
 * While a second account asks for a domain that nobody has proven, it delivers to none.
 * @param input `whenTaken` is for a domain of another account; refused by default
 * @returns the site, the number of sites the domain had before, and whether the site gets its events
 * @throws AccountError `unknown_account`, `invalid_name`, `invalid_domain`, `domain_taken`, `domain_full`, `too_many_sites`,
 *   `too_many_unproven`
 */
export async function createSite(
  pool: pg.Pool,
  input: { accountId: string; domain: string; name: string; whenTaken?: WhenTaken },
): Promise<{ site: Site; sameDomain: number; isProven: boolean }> {
  const { accountId, whenTaken = "refuse" } = input;
  const domain = normaliseDomain(input.domain);
  const name = readName(input.name, "site");
  return withTransaction(pool, async (transaction) => {
    await lockAccount(transaction, accountId);
    const { rows } = await transaction.query<{ sites: number }>(countSitesSql, [accountId]);
    if ((rows[0]?.sites ?? 0) >= maxSitesPerAccount) {
      throw new AccountError("too_many_sites", `An account has at most ${maxSitesPerAccount} sites.`);
    }
    if (whenTaken === "wait") await admitUnproven(transaction, accountId);
    const { isProven, sites } = await takeDomain(transaction, { accountId, domain }, whenTaken);
    const id = uuid();
    await transaction.query(insertSiteSql, [id, accountId, domain, name, isProven]);
    return { site: { id, domain, name }, sameDomain: sites, isProven };
  });
}

/** One probe of `site_pkey`. */
const lockSiteSql = `
  SELECT id, domain, name, account_id FROM site WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2) FOR UPDATE`;

async function lockSite(transaction: pg.ClientBase, { siteId, accountId }: SiteReference) {
  const { rows } = isUuid(siteId)
    ? await transaction.query<Site & { account_id: string }>(lockSiteSql, [siteId, accountId ?? null])
    : { rows: [] };
  const [site] = rows;
  if (!site) throw unknownSite(siteId);
  return site;
}

const updateSiteSql = "UPDATE site SET name = $2, domain = $3, is_proven = COALESCE($4, is_proven) WHERE id = $1";

/**
 * Follows the rules of {@link createSite}. Events and figures stay; the collector knows a new domain within ten seconds.
 * @throws AccountError as {@link createSite} does, and `unknown_site` (also for another account's site)
 */
export async function renameSite(
  pool: pg.Pool,
  input: SiteReference & { name?: string | undefined; domain?: string | undefined; whenTaken?: WhenTaken },
): Promise<Site> {
  const { siteId: id, whenTaken = "refuse" } = input;
  const newName = input.name === undefined ? undefined : readName(input.name, "site");
  const newDomain = input.domain === undefined ? undefined : normaliseDomain(input.domain);
  return withTransaction(pool, async (transaction) => {
    const { account_id: accountId, ...before } = await lockSite(transaction, input);
    const name = newName ?? before.name;
    const domain = newDomain ?? before.domain;
    const isMoved = domain !== before.domain;
    const taken = isMoved && (await takeDomain(transaction, { accountId, domain, siteId: id }, whenTaken));
    await transaction.query(updateSiteSql, [id, name, domain, taken ? taken.isProven : null]);
    return { id, domain, name };
  });
}

/** By `site_pkey`. The trigger on `site` releases the domain. */
const deleteSiteSql = "DELETE FROM site WHERE id = $1";

/** The worker removes the site's events and figures afterwards. @throws AccountError `unknown_site` */
export async function deleteSite(transaction: pg.ClientBase, reference: SiteReference): Promise<Site> {
  const { account_id: _, ...site } = await lockSite(transaction, reference);
  await transaction.query("INSERT INTO deleted_site (id) VALUES ($1) ON CONFLICT DO NOTHING", [site.id]);
  await transaction.query(deleteSiteSql, [site.id]);
  return site;
}

/**
 * Gives a site its domain's events, by a proof or by the operator's word; the domain of nobody needs none.
 * @returns the site, and the accounts with sites of the domain that wait from now on
 * @throws AccountError `unknown_site`
 */
export async function claimSite(
  transaction: pg.ClientBase,
  reference: SiteReference,
  move: DomainMove,
): Promise<{ site: Site; losers: string[] }> {
  const { account_id: accountId, ...site } = await lockSite(transaction, reference);
  const losers = await moveDomain(transaction, { accountId, domain: site.domain }, move);
  return { site, losers };
}

/** A range of `site_account_id_idx`. */
const listSitesSql = "SELECT id, domain, name FROM site WHERE account_id = $1 ORDER BY id";

/** The account's sites, oldest first. @throws AccountError `unknown_account` */
export async function listSites(pool: pg.Pool, accountId: string): Promise<Site[]> {
  await requireAccount(pool, accountId);
  const { rows } = await pool.query<Site>(listSitesSql, [accountId]);
  return rows;
}

export async function listAllSites(pool: pg.Pool): Promise<Site[]> {
  const { rows } = await pool.query<Site>("SELECT id, domain, name FROM site ORDER BY id");
  return rows;
}

/** A probe of `site_pkey`. */
const findSiteSql = "SELECT id, domain, name FROM site WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)";

/** @throws AccountError `unknown_site` (also for another account's site) */
export async function findSite(pool: pg.Pool, { siteId, accountId }: SiteReference): Promise<Site> {
  const { rows } = isUuid(siteId) ? await pool.query<Site>(findSiteSql, [siteId, accountId ?? null]) : { rows: [] };
  const [site] = rows;
  if (!site) throw unknownSite(siteId);
  return site;
}

/** A range of `site_domain_idx`, of about ten rows and those that wait. */
const findSitesOfDomainSql = "SELECT id, domain, name FROM site WHERE domain = $1 ORDER BY id";

/** The sites of all accounts with a domain, oldest first. @throws AccountError `invalid_domain` */
export async function findSitesOfDomain(pool: pg.Pool, domain: string): Promise<Site[]> {
  const { rows } = await pool.query<Site>(findSitesOfDomainSql, [normaliseDomain(domain)]);
  return rows;
}

function unknownSite(id: string): AccountError {
  return new AccountError("unknown_site", `There is no site '${id}'.`);
}
