import type pg from "pg";

/** A site as the collector knows it. */
export interface KnownSite {
  readonly id: string;
  readonly domain: string;
}

/** How long an answer is remembered, also that there is no such site: a new site is known within this time. */
const lifeMs = 10_000;

/** Domains with sites that are remembered at most, and domains without: beacons may name any, and push out only their kind. */
const maxRemembered = 10_000;

/** Domains of one look-up; further ones wait for the next. */
const maxPerStatement = 500;

/** Domains that wait for their look-up at most. */
const maxWaiting = 5_000;

/** Sites that may share a domain; `site create` refuses an eleventh. */
export const maxSitesPerDomain = 10;

/** Names in DNS have no other characters and are no longer (RFC 1035, 2.3.4): whatever is none of them has no site. */
const domainPattern = /^[a-z0-9._-]{1,253}$/;

/** For each domain the oldest sites of it, with or without `www.`: probes of `site_domain_idx`. */
const findSitesSql = `
  SELECT asked.domain AS asked, site.id, site.domain
  FROM unnest($1::text[], $2::text[]) AS asked (domain, bare)
  CROSS JOIN LATERAL (
    SELECT id, domain FROM site WHERE site.domain IN (asked.domain, asked.bare) ORDER BY id LIMIT ${maxSitesPerDomain}
  ) AS site`;

/** Too many domains wait to be looked up; the client should come back later. */
export class SiteDirectoryFullError extends Error {
  override name = "SiteDirectoryFullError";
}

/** Finds sites by their domain. */
export interface SiteDirectory {
  /**
   * @param domain as a client wrote it; with or without `www.`, in any case
   * @throws SiteDirectoryFullError when too many look-ups wait, or what the database threw
   */
  find(domain: string): Promise<readonly KnownSite[]>;
}

interface Remembered {
  readonly sites: readonly KnownSite[];
  readonly until: number;
}

interface Lookup {
  readonly sites: Promise<readonly KnownSite[]>;
  resolve(sites: readonly KnownSite[]): void;
  reject(error: unknown): void;
}

/**
 * Sites by domain, remembered for ten seconds. One statement at a time looks up all domains that are asked for, so that
 * made-up ones hold one connection, however many there are.
 */
export function createSiteDirectory({ pool, now = Date.now }: { pool: pg.Pool; now?: () => number }): SiteDirectory {
  const known = new Map<string, Remembered>();
  const unknown = new Map<string, Remembered>();
  const waiting = new Map<string, Lookup>();
  const running = new Map<string, Lookup>();

  function remember(domain: string, sites: readonly KnownSite[]): void {
    known.delete(domain);
    unknown.delete(domain);
    const place = sites.length > 0 ? known : unknown;
    const [oldest] = place.keys();
    if (oldest !== undefined && place.size >= maxRemembered) place.delete(oldest);
    place.set(domain, { sites, until: now() + lifeMs });
  }

  async function load(domains: readonly string[]): Promise<Map<string, KnownSite[]>> {
    const values = [domains, domains.map((domain) => domain.replace(/^www\./, ""))];
    const { rows } = await pool.query<KnownSite & { asked: string }>({
      name: "find-sites",
      text: findSitesSql,
      values,
    });
    const found = new Map<string, KnownSite[]>(domains.map((domain) => [domain, []]));
    for (const { asked, id, domain } of rows) found.get(asked)?.push({ id, domain });
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
        // A failure is not remembered.
        for (const { reject } of running.values()) reject(error);
      }
      running.clear();
    }
  }

  return {
    async find(written) {
      const domain = written.trim().toLowerCase();
      if (!domainPattern.test(domain)) return [];
      const remembered = known.get(domain) ?? unknown.get(domain);
      if (remembered && remembered.until > now()) return remembered.sites;
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
