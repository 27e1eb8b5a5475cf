import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { type ReadShares, requireSite } from "@waymark/statistics";
import type { Response } from "express";
import type pg from "pg";

/**
 * Reads from the site that a request names, when it is the account's turn.
 * @throws AppError 404 when the account does not have the site or a shared key is of another one, 429 or 503 when too many reads are under way
 */
export async function readOwnSite<Result>(
  { pool, reads }: { pool: pg.Pool; reads: ReadShares },
  { params, response }: { params: Readonly<Record<string, string>>; response: Response },
  work: (siteId: string) => Promise<Result>,
): Promise<Result> {
  const siteId = params["id"] ?? "";
  const { accountId, siteId: onlySite } = principalOf(response);
  const { id } = await requireSite(pool, accountId, siteId);
  if (onlySite !== undefined && onlySite !== id) throw new AppError("site_not_found");
  return reads.read(
    accountId,
    () => work(siteId),
    () => response.destroyed,
  );
}
