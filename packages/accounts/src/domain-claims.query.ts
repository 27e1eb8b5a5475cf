import { maxSitesPerDomain } from "@waymark/analytics";
import type { Prisma, PrismaClient } from "@waymark/database/prisma";

export interface DomainClaim {
  holder: string;
  /** Sites of all accounts with the domain, besides the given one. */
  sites: number;
}

/**
 * Claims a domain for an account, unless another account has it. The claim stays locked until the transaction ends, so two
 * writers of one domain wait for each other and both rules of `createSite` hold exactly. No caller asks for a proof of
 * ownership yet; it would belong before this call.
 * @param input `siteId` is the site to get the domain; it may have it already, such as with `www.`
 */
export async function claimDomain(
  transaction: Prisma.TransactionClient,
  { accountId, domain, siteId }: { accountId: string; domain: string; siteId?: string | undefined },
): Promise<DomainClaim> {
  const bare = bareDomain(domain);
  // Inserts or locks one row by site_domain_pkey. The update changes nothing: it returns the holder.
  const [claim] = await transaction.$queryRaw<{ account_id: string }[]>`
    INSERT INTO site_domain AS claim (domain, account_id) VALUES (${bare}, ${accountId}::uuid)
    ON CONFLICT (domain) DO UPDATE SET account_id = claim.account_id RETURNING account_id`;
  if (!claim) throw new Error(`The domain ${domain} was not claimed`);
  // A second statement, since it sees the rows committed while the first one waited. By site_domain_idx.
  const sites = await transaction.site.count({
    where: { domain: { in: [bare, `www.${bare}`] }, ...(siteId && { id: { not: siteId } }) },
  });
  return { holder: claim.account_id, sites };
}

/** A site of a domain with too many sites or several accounts: made by an older version, by hand, or as shared. */
export interface DomainConflict {
  id: string;
  domain: string;
  /** Older sites with the same domain. */
  older: number;
  /** Another account has a site with the domain, with or without `www.`. */
  isShared: boolean;
}

/** The account's sites on another account's domain, and those beyond the ten sites of a domain that get its events. */
export async function findDomainConflicts(prisma: PrismaClient, accountId: string): Promise<DomainConflict[]> {
  // The account's sites by site_account_id_idx, and for each one the sites of its domain by site_domain_idx.
  return prisma.$queryRaw<DomainConflict[]>`
    SELECT id, domain, older, "isShared"
    FROM (SELECT id, domain, account_id, regexp_replace(domain, '^(www[.])+', '') AS bare FROM site) AS mine
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE domain = mine.domain AND id < mine.id)::int AS older,
        bool_or(account_id <> mine.account_id) AS "isShared"
      FROM site WHERE domain IN (mine.domain, mine.bare, 'www.' || mine.bare)
    ) AS same
    WHERE mine.account_id = ${accountId}::uuid AND (older >= ${maxSitesPerDomain} OR "isShared")
    ORDER BY id`;
}

/** A page at `www.example.com` also reports to the sites of `example.com`, so both are one claim. */
function bareDomain(domain: string): string {
  return domain.replace(/^(www\.)+/, "");
}
