import { bareDomain, readSites, type SiteState } from "@waymark/accounts";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import type { ListedSite, SiteProof } from "./sites.schema.js";

export function proofOf({ domain, proofToken }: Pick<SiteState, "domain" | "proofToken">): SiteProof {
  const bare = bareDomain(domain);
  return {
    text: `waymark-site=${proofToken}`,
    fileUrl: `https://${bare}/.well-known/waymark-site.txt`,
    recordName: `_waymark.${bare}`,
  };
}

export function presentSite(site: SiteState): ListedSite {
  const { id, domain, name, createdAt, firstDay, lastDay, isProven, isSettled } = site;
  const proof = isSettled ? null : proofOf(site);
  return { id, domain, name, createdAt: createdAt.toISOString(), firstDay, lastDay, isWaiting: !isProven, proof };
}

/** @throws AppError 404 for an unknown id and for another account's site */
export async function requireOwnSite(pool: pg.Pool, accountId: string, siteId: string | undefined): Promise<SiteState> {
  const [site] = siteId && isUuid(siteId) ? await readSites(pool, accountId, siteId) : [];
  if (!site) throw new AppError("site_not_found");
  return site;
}
