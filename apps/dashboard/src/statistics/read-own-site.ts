import {
  type ColumnReader,
  checkRange,
  type DayColumns,
  type Filter,
  type Filtering,
  filtersParameter,
  type ReadShares,
  rangeParameters,
  requireSite,
  type Site,
} from "@waymark/web-stats/statistics";
import type { Response } from "express";
import type pg from "pg";
import { z } from "zod";
import type { Viewer } from "../session/viewer.js";

export interface StatisticsDeps {
  pool: pg.Pool;
  reads: ReadShares;
  columns: DayColumns;
  now(): Date;
}

/** The query parameters of figures of a range. */
export const rangeQuery = z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange);

interface ReadInput {
  viewer: Viewer;
  params: Readonly<Record<string, string>>;
  response: Response;
}

/**
 * Reads from the site that a request names, when it is the account's turn: its columns where there are filters. Refusing a
 * request asks the database nothing.
 * @throws AppError 404 when the account does not have the site, 429 or 503 when too many reads are under way
 */
export async function readOwnSite<Result>(
  deps: StatisticsDeps,
  input: ReadInput & { query: { filters: readonly Filter[] } },
  work: (site: Site, filtering: Filtering | undefined) => Promise<Result>,
): Promise<Result> {
  const { filters } = input.query;
  if (filters.length > 0) return readOwnColumns(deps, input, (site, columns) => work(site, { filters, columns }));
  return deps.reads.read(
    input.viewer.accountId,
    async () => work(await findSite(deps, input), undefined),
    () => input.response.destroyed,
  );
}

/** As `readOwnSite`, with columns in any case. */
export async function readOwnColumns<Result>(
  deps: StatisticsDeps,
  input: ReadInput,
  work: (site: Site, columns: ColumnReader) => Promise<Result>,
): Promise<Result> {
  const { accountId } = input.viewer;
  return deps.reads.readColumns(
    accountId,
    async () => work(await findSite(deps, input), deps.columns.open(accountId)),
    () => input.response.destroyed,
  );
}

function findSite({ pool }: StatisticsDeps, { viewer, params }: ReadInput): Promise<Site> {
  return requireSite(pool, viewer.accountId, params["id"] ?? "");
}
