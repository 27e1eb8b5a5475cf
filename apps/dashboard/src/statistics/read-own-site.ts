import {
  type DayColumns,
  type Filter,
  type Filtering,
  type ReadShares,
  requireSite,
  type Site,
} from "@waymark/statistics";
import type { Response } from "express";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";

export interface StatisticsDeps {
  pool: pg.Pool;
  reads: ReadShares;
  columns: DayColumns;
  now(): Date;
}

/**
 * Reads from the site that a request names, when it is the account's turn.
 * @throws AppError 404 when the account does not have the site, 429 or 503 when too many reads are under way
 */
export async function readOwnSite<Result>(
  { pool, reads }: StatisticsDeps,
  { params, response }: { params: Readonly<Record<string, string>>; response: Response },
  work: (site: Site) => Promise<Result>,
): Promise<Result> {
  const { accountId } = viewerOf(response);
  const site = await requireSite(pool, accountId, params["id"] ?? "");
  return reads.read(
    accountId,
    () => work(site),
    () => response.destroyed,
  );
}

/** What a request's filters need; undefined without one. */
export function filteringOf({ columns }: StatisticsDeps, filters: readonly Filter[]): Filtering | undefined {
  return filters.length > 0 ? { filters, columns } : undefined;
}
