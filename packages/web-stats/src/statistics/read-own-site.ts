import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import type { ColumnReader, DayColumns } from "./columns/day-columns.js";
import type { Filter } from "./filters/filter.js";
import type { Filtering } from "./read-statistics.js";
import type { ReadShares } from "./work.js";

export interface StatisticsDeps {
  pool: pg.Pool;
  reads: ReadShares;
  columns: DayColumns;
  now(): Date;
}

/** Who asks, with the only site of a shared key or link. */
export interface Asker {
  accountId: string;
  siteId?: string | undefined;
}

interface SiteInput {
  params: Readonly<Record<string, string>>;
  response: { readonly destroyed: boolean };
}

/**
 * Reads from the site that a request names, or that a link is of, when it is the account's turn: its columns where there are filters. Refusing a
 * request asks the database nothing.
 * @throws AppError 404 when the account does not have the site or a shared key is of another one, 429 or 503 when too many reads are under way
 */
export async function readOwnSite<Result>(
  deps: StatisticsDeps,
  asker: Asker,
  input: SiteInput & { query: { filters?: readonly Filter[] } },
  work: (site: Site, filtering: Filtering | undefined) => Promise<Result>,
): Promise<Result> {
  const { filters = [] } = input.query;
  if (filters.length > 0) {
    return readOwnColumns(deps, asker, input, (site, columns) => work(site, { filters, columns }));
  }
  return deps.reads.read(
    asker.accountId,
    async () => work(await ownSite(deps, asker, input), undefined),
    () => input.response.destroyed,
  );
}

export async function readOwnColumns<Result>(
  deps: StatisticsDeps,
  asker: Asker,
  input: SiteInput,
  work: (site: Site, columns: ColumnReader) => Promise<Result>,
): Promise<Result> {
  const { accountId } = asker;
  return deps.reads.readColumns(
    accountId,
    async () => work(await ownSite(deps, asker, input), deps.columns.open(accountId)),
    () => input.response.destroyed,
  );
}

async function ownSite({ pool }: StatisticsDeps, { accountId, siteId }: Asker, { params }: SiteInput): Promise<Site> {
  const site = await requireSite(pool, accountId, params["id"] ?? siteId ?? "");
  if (siteId !== undefined && siteId !== site.id) throw new AppError("site_not_found");
  return site;
}

/** A site as the API answers it (statistics contract, "Site"). */
export interface Site {
  id: string;
  domain: string;
  name: string;
}

/** The account's sites, oldest first, by the index on `account_id`. */
const listSitesSql = "SELECT id, domain, name FROM site WHERE account_id = $1 ORDER BY id";

/** The site when the account has it: one probe of `site_pkey`. */
const ownSiteSql = "SELECT id, domain, name FROM site WHERE id = $2 AND account_id = $1";

export async function listSites(pool: pg.Pool, accountId: string): Promise<Site[]> {
  const { rows } = await pool.query<Site>({ name: "list-sites", text: listSitesSql, values: [accountId] });
  return rows;
}

/** @throws AppError 404 when the account has no site with the id: it is unknown, another account's or no UUID */
export async function requireSite(pool: pg.Pool, accountId: string, siteId: string): Promise<Site> {
  if (isUuid(siteId)) {
    const { rows } = await pool.query<Site>({ name: "own-site", text: ownSiteSql, values: [accountId, siteId] });
    if (rows[0]) return rows[0];
  }
  throw new AppError("site_not_found");
}
