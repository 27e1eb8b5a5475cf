import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import {
  type ColumnReader,
  type DayColumns,
  type Filter,
  type Filtering,
  type ReadShares,
  requireSite,
} from "@waymark/web-stats/statistics";
import type { Response } from "express";
import type pg from "pg";

interface ReadInput {
  params: Readonly<Record<string, string>>;
  response: Response;
}

export interface ReadDeps {
  pool: pg.Pool;
  reads: ReadShares;
  columns: DayColumns;
}

/**
 * Reads from the site that a request names, when it is the account's turn: refusing a request asks the database nothing.
 * @throws AppError 404 when the account does not have the site or a shared key is of another one, 429 or 503 when too many reads are under way
 */
export async function readOwnSite<Result>(
  deps: Pick<ReadDeps, "pool" | "reads">,
  input: ReadInput,
  work: (siteId: string) => Promise<Result>,
): Promise<Result> {
  return deps.reads.read(
    principalOf(input.response).accountId,
    async () => work(await findSite(deps.pool, input)),
    () => input.response.destroyed,
  );
}

/** As `readOwnSite`, with the site's columns. */
export async function readOwnColumns<Result>(
  { pool, reads, columns }: ReadDeps,
  input: ReadInput,
  work: (siteId: string, columns: ColumnReader) => Promise<Result>,
): Promise<Result> {
  const { accountId } = principalOf(input.response);
  return reads.readColumns(
    accountId,
    async () => work(await findSite(pool, input), columns.open(accountId)),
    () => input.response.destroyed,
  );
}

/** Reads columns only where there are filters. */
export function readOwnFiltered<Result>(
  deps: ReadDeps,
  input: ReadInput & { query: { filters: readonly Filter[] } },
  work: (siteId: string, filtering: Filtering | undefined) => Promise<Result>,
): Promise<Result> {
  const { filters } = input.query;
  if (filters.length === 0) return readOwnSite(deps, input, (siteId) => work(siteId, undefined));
  return readOwnColumns(deps, input, (siteId, columns) => work(siteId, { filters, columns }));
}

async function findSite(pool: pg.Pool, { params, response }: ReadInput): Promise<string> {
  const { accountId, siteId: onlySite } = principalOf(response);
  const { id: siteId } = await requireSite(pool, accountId, params["id"] ?? "");
  if (onlySite !== undefined && onlySite !== siteId) throw new AppError("site_not_found");
  return siteId;
}
