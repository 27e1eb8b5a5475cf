import { maxSitesPerDomain } from "@waymark/analytics";
import { createUuidV7, isUuid } from "@waymark/database";
import type { Prisma, PrismaClient } from "@waymark/database/prisma";
import type pg from "pg";
import { AccountError } from "./account-error.js";
import { findAccount } from "./accounts.js";
import { claimDomain } from "./domain-claims.query.js";
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

const uuid = createUuidV7();

/**
 * Creates a site. A domain belongs to the first account that has a site for it, and has at most ten sites.
 * @param input `isShared` lets another account have the domain too: the operator's word that both may read its events
 * @returns the site, and the number of sites the domain had before
 * @throws AccountError `unknown_account`, `invalid_name`, `invalid_domain`, `domain_taken`, `domain_full`
 */
export async function createSite(
  prisma: PrismaClient,
  input: { accountId: string; domain: string; name: string; isShared?: boolean },
): Promise<{ site: Site; sameDomain: number }> {
  const domain = normaliseDomain(input.domain);
  const name = readName(input.name, "site");
  const { id: accountId } = await findAccount(prisma, input.accountId);
  return prisma.$transaction(async (transaction) => {
    const sameDomain = await takeDomain(transaction, { accountId, domain, isShared: input.isShared === true });
    const site = await transaction.site.create({ data: { id: uuid(), accountId, domain, name } });
    return { site: present(site), sameDomain };
  });
}

/**
 * Changes a site's name, its domain, or both, by the rules of {@link createSite}. Its events and figures stay. The collector
 * knows a new domain within ten seconds.
 * @throws AccountError as {@link createSite} does, and `unknown_site` (also for another account's site)
 */
export async function renameSite(
  prisma: PrismaClient,
  input: SiteReference & { name?: string | undefined; domain?: string | undefined; isShared: boolean },
): Promise<Site> {
  const { siteId: id, accountId: owner, isShared } = input;
  const name = input.name === undefined ? undefined : readName(input.name, "site");
  const domain = input.domain === undefined ? undefined : normaliseDomain(input.domain);
  const where = { id, ...(owner !== undefined && { accountId: owner }) };
  return prisma.$transaction(async (transaction) => {
    const site = isUuid(id) ? await transaction.site.findUnique({ where }) : null;
    if (!site) throw unknownSite(id);
    const { accountId } = site;
    if (domain !== undefined && domain !== site.domain) {
      await takeDomain(transaction, { accountId, domain, isShared, siteId: id });
    }
    const data = { ...(name !== undefined && { name }), ...(domain !== undefined && { domain }) };
    return present(await transaction.site.update({ where: { id }, data }));
  });
}

/** Claims the domain for a site of the account. @returns the number of other sites with it */
async function takeDomain(
  transaction: Prisma.TransactionClient,
  { isShared, ...claim }: { accountId: string; domain: string; isShared: boolean; siteId?: string },
): Promise<number> {
  const { accountId, domain } = claim;
  const { holder, sites } = await claimDomain(transaction, claim);
  if (holder !== accountId && !isShared) {
    throw new AccountError("domain_taken", `The domain ${domain} belongs to another account, which has a site for it.`);
  }
  if (sites >= maxSitesPerDomain) {
    const message = `The domain ${domain} has ${sites} sites, and at most ${maxSitesPerDomain} get its events.`;
    throw new AccountError("domain_full", message);
  }
  return sites;
}

/** The account's sites, oldest first. @throws AccountError `unknown_account` */
export async function listSites(prisma: PrismaClient, accountId: string): Promise<Site[]> {
  const { id } = await findAccount(prisma, accountId);
  const sites = await prisma.site.findMany({ where: { accountId: id }, orderBy: { id: "asc" } });
  return sites.map(present);
}

/** A probe of `site_pkey`, in SQL because Prisma's compiler would take a tenth of an import's memory. */
const findSiteSql = "SELECT id, domain, name FROM site WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)";

/** @throws AccountError `unknown_site` (also for another account's site) */
export async function findSite(pool: pg.Pool, { siteId, accountId }: SiteReference): Promise<Site> {
  const { rows } = isUuid(siteId) ? await pool.query<Site>(findSiteSql, [siteId, accountId ?? null]) : { rows: [] };
  const [site] = rows;
  if (!site) throw unknownSite(siteId);
  return site;
}

/** A range of `site_domain_idx`, of about ten rows at most. */
const findSitesOfDomainSql = "SELECT id, domain, name FROM site WHERE domain = $1 ORDER BY id";

/** The sites of all accounts with a domain, oldest first. @throws AccountError `invalid_domain` */
export async function findSitesOfDomain(pool: pg.Pool, domain: string): Promise<Site[]> {
  const { rows } = await pool.query<Site>(findSitesOfDomainSql, [normaliseDomain(domain)]);
  return rows;
}

function unknownSite(id: string): AccountError {
  return new AccountError("unknown_site", `There is no site '${id}'.`);
}

function present({ id, domain, name }: Site): Site {
  return { id, domain, name };
}
