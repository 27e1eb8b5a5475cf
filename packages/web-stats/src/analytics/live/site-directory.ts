import { LRUCache } from "lru-cache";
import type pg from "pg";

export interface KnownSite {
  readonly id: string;
  readonly domain: string;
  readonly accountId: string;
  /** Whether its owner wants to know what visits cost. */
  readonly countsCosts: boolean;
}

/** How long an answer is cached, also that a domain has no site. The collector knows a new site within this time. */
const lifeMs = 10_000;

/** Domains with sites, and as many without. Two caches: domains that a client makes up push out only each other. */
const maxCachedDomains = 10_000;

const maxPerStatement = 500;

const maxWaiting = 5_000;

/** `waymark site create` refuses an eleventh. */
export const maxSitesPerDomain = 10;

/** Names in DNS have only these characters and this length (RFC 1035, 2.3.4); any other text has no site. */
const domainPattern = /^[a-z0-9._-]{1,253}$/;

/**
 * Whether nobody has proven a domain that two accounts ask for: it delivers to none of them. Probes of `site_domain_pkey` and
 * `site_domain_idx`, by SQL of the domain without `www.`.
 */
export const isContestedSql = (bare: string) => `EXISTS (
  SELECT FROM site_domain claim JOIN site rival
    ON rival.domain IN (claim.domain, 'www.' || claim.domain) AND rival.account_id <> claim.account_id
  WHERE claim.domain = ${bare} AND NOT claim.is_proven)`;

/** The oldest proven sites of each domain, with or without `www.`, at most ten. Probes of `site_receiving_idx`. */
const findSitesSql = `
  SELECT asked.domain AS asked, site.id, site.domain, site.account_id AS "accountId", costs_until IS NOT NULL AS "countsCosts"
  FROM unnest($1::text[], $2::text[]) AS asked (domain, bare)
  CROSS JOIN LATERAL (
    SELECT id, domain, account_id, costs_until FROM site WHERE site.domain IN (asked.domain, asked.bare) AND is_proven
    ORDER BY id LIMIT ${maxSitesPerDomain}
  ) AS site
  WHERE NOT ${isContestedSql("asked.bare")}`;

export class SiteDirectoryFullError extends Error {
  override name = "SiteDirectoryFullError";
}

export interface SiteDirectory {
  /** @param domain in any case, with or without `www.` @throws SiteDirectoryFullError when too many wait */
  find(domain: string): Promise<readonly KnownSite[]>;
}

interface Lookup {
  readonly sites: Promise<readonly KnownSite[]>;
  resolve(sites: readonly KnownSite[]): void;
  reject(error: unknown): void;
}

/** Sites by domain. One statement at a time looks up all waiting domains, so made-up ones never hold two connections. */
export function createSiteDirectory({ pool, now = Date.now }: { pool: pg.Pool; now?: () => number }): SiteDirectory {
  // Without a resolution lru-cache reads the clock at each use and starts no timer.
  const options = { max: maxCachedDomains, ttl: lifeMs, ttlResolution: 0, perf: { now } };
  const known = new LRUCache<string, readonly KnownSite[]>(options);
  const unknown = new LRUCache<string, readonly KnownSite[]>(options);
  const waiting = new Map<string, Lookup>();
  const running = new Map<string, Lookup>();

  function remember(domain: string, sites: readonly KnownSite[]): void {
    known.delete(domain);
    unknown.delete(domain);
    (sites.length > 0 ? known : unknown).set(domain, sites);
  }

  async function load(domains: readonly string[]): Promise<Map<string, KnownSite[]>> {
    const values = [domains, domains.map((domain) => domain.replace(/^www\./, ""))];
    const { rows } = await pool.query<KnownSite & { asked: string }>({
      name: "find-sites",
      text: findSitesSql,
      values,
    });
    const found = new Map<string, KnownSite[]>(domains.map((domain) => [domain, []]));
    for (const { asked, ...site } of rows) found.get(asked)?.push(site);
    return found;
  }

  async function lookUp(): Promise<void> {
    while (waiting.size > 0) {
      for (const [domain, lookup] of waiting) {
        if (running.size >= maxPerStatement) break;
        waiting.delete(domain);
        running.set(domain, lookup);
      }
      try {
        for (const [domain, sites] of await load([...running.keys()])) {
          remember(domain, sites);
          running.get(domain)?.resolve(sites);
        }
      } catch (error) {
        for (const { reject } of running.values()) reject(error);
      }
      running.clear();
    }
  }

  return {
    async find(written) {
      const domain = written.trim().toLowerCase();
      if (!domainPattern.test(domain)) return [];
      const cached = known.get(domain) ?? unknown.get(domain);
      if (cached) return cached;
      const begun = running.get(domain) ?? waiting.get(domain);
      if (begun) return begun.sites;
      if (waiting.size >= maxWaiting) throw new SiteDirectoryFullError("Too many domains wait to be looked up");
      const lookup = createLookup();
      waiting.set(domain, lookup);
      if (running.size === 0 && waiting.size === 1) void lookUp();
      return lookup.sites;
    },
  };
}

function createLookup(): Lookup {
  let resolve: Lookup["resolve"] = () => undefined;
  let reject: Lookup["reject"] = () => undefined;
  const sites = new Promise<readonly KnownSite[]>((onSites, onError) => {
    resolve = onSites;
    reject = onError;
  });
  return { sites, resolve, reject };
}
