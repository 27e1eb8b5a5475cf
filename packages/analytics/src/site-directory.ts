import type pg from "pg";

/** A site as the collector knows it. */
export interface KnownSite {
  readonly id: string;
  readonly domain: string;
}

/** How long an answer is remembered, also that there is no such site: a new site is known within this time. */
const lifeMs = 10_000;

/** Domains remembered at most: beacons may name any. */
const maxRemembered = 10_000;

/** Sites that may share a domain, such as one of a staging account; further ones would only cost time. */
const maxSitesPerDomain = 10;

/** A probe of `site_domain_idx`. */
const findSitesSql = `SELECT id, domain FROM site WHERE domain = ANY($1) ORDER BY id LIMIT ${maxSitesPerDomain}`;

/** Finds sites by their domain. */
export interface SiteDirectory {
  /** @param domain as a client wrote it; with or without `www.`, in any case */
  find(domain: string): Promise<readonly KnownSite[]>;
}

interface Remembered {
  readonly sites: Promise<readonly KnownSite[]>;
  readonly until: number;
}

/** Sites by domain, remembered for ten seconds. */
export function createSiteDirectory({ pool, now = Date.now }: { pool: pg.Pool; now?: () => number }): SiteDirectory {
  const remembered = new Map<string, Remembered>();
  const load = async (domain: string): Promise<readonly KnownSite[]> => {
    const { rows } = await pool.query<KnownSite>({
      name: "find-sites",
      text: findSitesSql,
      values: [[domain, domain.replace(/^www\./, "")]],
    });
    return rows;
  };
  return {
    find(written) {
      const domain = written.trim().toLowerCase();
      const known = remembered.get(domain);
      if (known && known.until > now()) return known.sites;
      const sites = load(domain);
      if (remembered.size >= maxRemembered) remembered.clear();
      remembered.set(domain, { sites, until: now() + lifeMs });
      // A failure is not remembered.
      sites.catch(() => remembered.delete(domain));
      return sites;
    },
  };
}
