import { createUuidV7, isUuid, type Queryable, withTransaction } from "@waymark/database";
import { isContestedSql, maxSitesPerDomain } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { AccountError, lockAccount, readName, requireAccount } from "./accounts.js";
import { issueKey } from "./keys.js";

interface DomainOf {
  accountId: string;
  domain: string;
  /** The site to get the domain; it may have it already, such as with `www.` */
  siteId?: string | undefined;
}

/** A domain of another account is refused, shared by the operator's word, or without events until a proof. */
type WhenTaken = "refuse" | "share" | "wait";

/** Inserts or locks one row by `site_domain_pkey`, and returns the holder. The operator's word is a proof. */
const claimSql = `
  INSERT INTO site_domain AS claim (domain, account_id, is_proven) VALUES ($1, $2, $3)
  ON CONFLICT (domain) DO UPDATE SET is_proven = claim.is_proven OR EXCLUDED.is_proven RETURNING account_id`;

/** The account's sites of a domain and those that get its events, besides one, by `site_domain_idx`. */
const countSitesSql = `
  SELECT count(*)::int AS sites FROM site
  WHERE domain IN ($1, 'www.' || $1) AND (account_id = $2 OR is_proven) AND id IS DISTINCT FROM $3::uuid`;

/** Other writers of the domain wait until the transaction ends. @throws AccountError `domain_taken`, `domain_full` */
async function takeDomain(
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

interface DomainMove {
  /** Leaves others their events. */
  isShared: boolean;
  /** False where the domain was free. */
  isProven?: boolean;
}

/** Gives a domain's further events to an account. @returns accounts with sites that wait now */
async function moveDomain(
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
const receivesSql = `(site.is_proven AND NOT ${isContestedSql(bareSql)})`;

/** SQL: whether a site gets them, and no other account's claim can end that. A probe of `site_domain_pkey`. */
const isSettledSql = `(site.is_proven AND NOT EXISTS (
  SELECT FROM site_domain claim WHERE claim.domain = ${bareSql} AND NOT claim.is_proven))`;

const maxUnprovenSites = 5;

const countUnprovenSql = `
  SELECT count(*)::int AS sites FROM site JOIN account ON account.id = site.account_id
  WHERE site.account_id = $1 AND account.plan = 'free' AND NOT ${isSettledSql}`;

/** A stranger may claim only few domains. A range of `site_account_id_idx`. @throws AccountError `too_many_unproven` */
async function admitUnproven(transaction: pg.ClientBase, accountId: string): Promise<void> {
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

export interface Site {
  id: string;
  domain: string;
  name: string;
}

interface SiteReference {
  siteId: string;
  accountId?: string;
}

const maxSitesPerAccount = 200;

const uuid = createUuidV7();

/**
 * Creates a site. A domain belongs to the first account that has a site for it, and has at most ten sites. While a second
 * account asks for a domain that nobody has proven, it delivers to none; `whenTaken` refuses one by default.
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
    const { rowCount } = await transaction.query("SELECT FROM site WHERE account_id = $1", [accountId]);
    if ((rowCount ?? 0) >= maxSitesPerAccount) {
      const message = `An account has at most ${maxSitesPerAccount} sites.`;
      throw new AccountError("too_many_sites", message, { limit: maxSitesPerAccount });
    }
    if (whenTaken === "wait") await admitUnproven(transaction, accountId);
    const { isProven, sites } = await takeDomain(transaction, { accountId, domain }, whenTaken);
    const id = uuid();
    const sql = "INSERT INTO site (id, account_id, domain, name, is_proven) VALUES ($1, $2, $3, $4, $5)";
    await transaction.query(sql, [id, accountId, domain, name, isProven]);
    return { site: { id, domain, name }, sameDomain: sites, isProven };
  });
}

/** A probe of `site_pkey`. */
const siteSql = "SELECT id, domain, name, account_id FROM site WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)";

type SiteOfAccount = Site & { account_id: string };

async function probeSite(database: Queryable, { siteId, accountId }: SiteReference, lock = "") {
  const { rows } = isUuid(siteId)
    ? await database.query<SiteOfAccount>(siteSql + lock, [siteId, accountId ?? null])
    : { rows: [] };
  if (!rows[0]) throw new AccountError("unknown_site", `There is no site '${siteId}'.`);
  return rows[0];
}

function lockSite(transaction: pg.ClientBase, reference: SiteReference): Promise<SiteOfAccount> {
  return probeSite(transaction, reference, " FOR UPDATE");
}

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
    const sql = "UPDATE site SET name = $2, domain = $3, is_proven = COALESCE($4, is_proven) WHERE id = $1";
    await transaction.query(sql, [id, name, domain, taken ? taken.isProven : null]);
    return { id, domain, name };
  });
}

/** A trigger releases the domain, and the worker removes the site's events and figures. @throws AccountError `unknown_site` */
export async function deleteSite(transaction: pg.ClientBase, reference: SiteReference): Promise<Site> {
  const { account_id: _, ...site } = await lockSite(transaction, reference);
  await transaction.query("INSERT INTO deleted_site (id) VALUES ($1) ON CONFLICT DO NOTHING", [site.id]);
  await transaction.query("DELETE FROM site WHERE id = $1", [site.id]);
  return site;
}

/** A probe of `site_pkey`. The first summed day is the one on which it is switched on. */
const setCostsSql = `
  UPDATE site SET costs_until = CASE WHEN $2 THEN COALESCE(costs_until, (now() AT TIME ZONE 'UTC')::date - 1) END WHERE id = $1`;

/** Switches what a visit costs on or off; its sums stay. The collector follows in ten seconds. @throws AccountError `unknown_site` */
export async function countCosts(
  transaction: pg.ClientBase,
  reference: SiteReference,
  counts: boolean,
): Promise<Site & { countsCosts: boolean }> {
  const { account_id: _, ...site } = await lockSite(transaction, reference);
  await transaction.query(setCostsSql, [site.id, counts]);
  return { ...site, countsCosts: counts };
}

/** By a proof or by the operator's word. @returns the site, and the accounts whose sites of the domain wait now */
export async function claimSite(
  transaction: pg.ClientBase,
  reference: SiteReference,
  move: DomainMove,
): Promise<{ site: Site; losers: string[] }> {
  const { account_id: accountId, ...site } = await lockSite(transaction, reference);
  const losers = await moveDomain(transaction, { accountId, domain: site.domain }, move);
  return { site, losers };
}

/** The account's sites, oldest first. @throws AccountError `unknown_account` */
export async function listSites(pool: pg.Pool, accountId: string): Promise<Site[]> {
  await requireAccount(pool, accountId);
  const sql = "SELECT id, domain, name FROM site WHERE account_id = $1 ORDER BY id";
  return (await pool.query<Site>(sql, [accountId])).rows;
}

export async function listAllSites(pool: pg.Pool): Promise<Site[]> {
  return (await pool.query<Site>("SELECT id, domain, name FROM site ORDER BY id")).rows;
}

/** @throws AccountError `unknown_site` (also for another account's site) */
export async function findSite(pool: pg.Pool, reference: SiteReference): Promise<Site> {
  const { account_id: _, ...site } = await probeSite(pool, reference);
  return site;
}

/** The sites of all accounts with a domain, oldest first. @throws AccountError `invalid_domain` */
export async function findSitesOfDomain(pool: pg.Pool, domain: string): Promise<Site[]> {
  const sql = "SELECT id, domain, name FROM site WHERE domain = $1 ORDER BY id";
  return (await pool.query<Site>(sql, [normaliseDomain(domain)])).rows;
}

const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const ipv4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** RFC 1035, 2.3.4, without the root's dot. */
const maxDomainLength = 253;

/**
 * A site's domain as the database stores it: the bare host in lower case and ASCII, without scheme, port and path. An address
 * like `https://Example.com/` stands for its host; names in other scripts become punycode.
 * @throws AccountError `invalid_domain`
 */
export function normaliseDomain(text: string): string {
  const host = hostOf(text.trim());
  if (host !== undefined && isDomain(host, text)) return host;
  throw new AccountError("invalid_domain", `'${text}' is not a domain. Give one like example.com.`);
}

function hostOf(text: string): string | undefined {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return url.hostname.replace(/\.$/, "");
}

function isDomain(host: string, text: string): boolean {
  if (host.length > maxDomainLength || !host.split(".").every((part) => label.test(part))) return false;
  // The URL parser reads `1` as the address 0.0.0.1, and nobody means that.
  if (ipv4.test(host)) return text.includes(host);
  return host.includes(".") || host === "localhost";
}

/** The key ends with the site, at `expiresAt`, or when it is revoked. Only this answer has the key. */
export function shareSite(
  pool: pg.Pool,
  { siteId, name, expiresAt }: { siteId: string; name: string; expiresAt: Date | null },
) {
  return withTransaction(pool, async (transaction) => {
    const { account_id: accountId } = await probeSite(transaction, { siteId });
    const share = { siteId, expiresAt };
    const { id, key } = await issueKey(transaction, { accountId, service: "analytics", name, share });
    return { id, key, expires_at: expiresAt?.toISOString() ?? null };
  });
}

export interface SiteState extends Site {
  createdAt: Date;
  /** False while another account has the domain, or asks for it and nobody has proven it: the site gets no events. */
  isProven: boolean;
  /** Whether another account's claim cannot end that. */
  isSettled: boolean;
  proofToken: string;
  /** Whether what its visits cost is summed. */
  countsCosts: boolean;
  /** The first and last UTC day with visits or custom events, `YYYY-MM-DD`; null without any. */
  firstDay: string | null;
  lastDay: string | null;
}

/** By `site_account_id_idx`; for each site the ends of its ranges in `daily_stat_pkey` and `daily_event_pkey`: four probes. */
const readSitesSql = `
  SELECT id, domain, name, created_at AS "createdAt", ${receivesSql} AS "isProven", ${isSettledSql} AS "isSettled", proof_token AS "proofToken",
    costs_until IS NOT NULL AS "countsCosts",
    LEAST(
      (SELECT day FROM daily_stat WHERE site_id = site.id AND dimension = 'total' ORDER BY day LIMIT 1),
      (SELECT day FROM daily_event WHERE site_id = site.id ORDER BY day LIMIT 1)
    )::text AS "firstDay",
    GREATEST(
      (SELECT day FROM daily_stat WHERE site_id = site.id AND dimension = 'total' ORDER BY day DESC LIMIT 1),
      (SELECT day FROM daily_event WHERE site_id = site.id ORDER BY day DESC LIMIT 1)
    )::text AS "lastDay"
  FROM site WHERE account_id = $1 AND ($2::uuid IS NULL OR id = $2) ORDER BY id`;

/** The account's sites, oldest first. @param siteId reads this one alone */
export async function readSites(pool: pg.Pool, accountId: string, siteId?: string): Promise<SiteState[]> {
  const { rows } = await pool.query<SiteState>(readSitesSql, [accountId, siteId ?? null]);
  return rows;
}
