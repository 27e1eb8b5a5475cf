import { maxSitesPerDomain } from "@waymark/analytics";
import { createUuidV7, isUuid } from "@waymark/database";
import type { Prisma, PrismaClient } from "@waymark/database/prisma";
import { textProblem } from "@waymark/fields";
import type pg from "pg";
import { AccountError, findAccount } from "./accounts.js";
import { claimDomain } from "./domain-claims.query.js";
import { normaliseDomain } from "./site-domain.js";

/** A site as it is shown. */
export interface Site {
  id: string;
  domain: string;
  name: string;
}

const maxNameLength = 200;
const uuid = createUuidV7();

/**
 * Creates a site. A domain belongs to the first account that has a site for it, and has at most ten sites.
 * @param input with `isShared`, another account may have the domain too: the operator's word that both may read its events
 * @returns the site, and how many sites the domain had before
 * @throws AccountError when the domain is none, belongs to another account or has ten sites, or the name is empty, longer
 *   than 200 characters or not storable, or there is no such account
 */
export async function createSite(
  prisma: PrismaClient,
  input: { accountId: string; domain: string; name: string; isShared?: boolean },
): Promise<{ site: Site; sameDomain: number }> {
  const domain = normaliseDomain(input.domain);
  const name = readName(input.name);
  const { id: accountId } = await findAccount(prisma, input.accountId);
  return prisma.$transaction(async (transaction) => {
    const sameDomain = await takeDomain(transaction, { accountId, domain, isShared: input.isShared === true });
    const site = await transaction.site.create({ data: { id: uuid(), accountId, domain, name } });
    return { site: present(site), sameDomain };
  });
}

/**
 * Changes a site's name, and its domain where one is given, by the rules of {@link createSite}. Its events and figures stay;
 * the collector knows within ten seconds.
 * @throws AccountError as {@link createSite} does, and when there is no such site
 */
export async function renameSite(
  prisma: PrismaClient,
  input: { siteId: string; name: string; domain?: string | undefined; isShared: boolean },
): Promise<Site> {
  const { siteId: id, isShared } = input;
  const name = readName(input.name);
  const domain = input.domain === undefined ? undefined : normaliseDomain(input.domain);
  return prisma.$transaction(async (transaction) => {
    const site = isUuid(id) ? await transaction.site.findUnique({ where: { id } }) : null;
    if (!site) throw new AccountError(unknownSite(id));
    const { accountId } = site;
    if (domain === undefined || domain === site.domain) {
      return present(await transaction.site.update({ where: { id }, data: { name } }));
    }
    await takeDomain(transaction, { accountId, domain, isShared, siteId: id });
    return present(await transaction.site.update({ where: { id }, data: { name, domain } }));
  });
}

function readName(name: string): string {
  if (name.trim() !== "" && name.length <= maxNameLength && !textProblem(name)) return name;
  throw new AccountError(`A site's name has 1 to ${maxNameLength} characters.`);
}

/** Claims the domain for a site of the account; how many other sites have it. */
async function takeDomain(
  transaction: Prisma.TransactionClient,
  { isShared, ...claim }: { accountId: string; domain: string; isShared: boolean; siteId?: string },
): Promise<number> {
  const { accountId, domain } = claim;
  const { holder, sites } = await claimDomain(transaction, claim);
  if (holder !== accountId && !isShared) {
    throw new AccountError(
      `The domain ${domain} belongs to another account, which has a site for it. --shared lets both have its events.`,
    );
  }
  if (sites >= maxSitesPerDomain) {
    throw new AccountError(`The domain ${domain} has ${sites} sites, and at most ${maxSitesPerDomain} get its events.`);
  }
  return sites;
}

function unknownSite(id: string): string {
  return `There is no site '${id}'. 'waymark site list --account ID' shows them.`;
}

/**
 * The account's sites, oldest first.
 * @throws AccountError when there is no such account
 */
export async function listSites(prisma: PrismaClient, accountId: string): Promise<Site[]> {
  const { id } = await findAccount(prisma, accountId);
  const sites = await prisma.site.findMany({ where: { accountId: id }, orderBy: { id: "asc" } });
  return sites.map(present);
}

/** A probe of `site_pkey`. Without Prisma, whose query compiler would be a tenth of an import's memory. */
const findSiteSql = "SELECT id, domain, name FROM site WHERE id = $1";

/** @throws AccountError when there is no site with the id */
export async function findSite(pool: pg.Pool, id: string): Promise<Site> {
  const { rows } = isUuid(id) ? await pool.query<Site>(findSiteSql, [id]) : { rows: [] };
  const [site] = rows;
  if (!site) throw new AccountError(unknownSite(id));
  return site;
}

function present({ id, domain, name }: Site): Site {
  return { id, domain, name };
}
