import { purgeSalts } from "@waymark/analytics";
import { uuidV7Floor } from "@waymark/database";
import { isPlanId, planOf } from "@waymark/plan";
import type pg from "pg";
import type { Logger } from "pino";
import {
  listAccounts,
  type Purged,
  purgeAccount,
  purgeDeletedTraces,
  purgeIdempotencyKeys,
  purgeRateLimits,
} from "./purge.query.js";

export interface PurgeDeps {
  pool: pg.Pool;
  log: Logger;
  now(): Date;
  /** Asked between batches. */
  isStopping(): boolean;
}

const dayMs = 24 * 3_600_000;
/** Clients may count on a day; the second one is for clocks that differ and rounds that fail. */
const idempotencyKeysMs = 2 * dayMs;
/** Collectors may repeat a batch for as long as they keep it; a day is promised, the second one is slack again. */
const deletedTracesMs = 2 * dayMs;

/**
 * Removes what is past its time: traces by the plan that the account has now (trace contract, "Limits"), the salts of visitor
 * hashes, idempotency keys, ids of deleted OpenTelemetry traces, and counters of requests.
 */
export function createPurgeExpired({ pool, log, now, isStopping }: PurgeDeps): () => Promise<Purged> {
  return async () => {
    const total: Purged = { trace: 0, trace_context: 0, span: 0, alert: 0 };
    for await (const { id, plan } of listAccounts(pool)) {
      if (isStopping()) break;
      if (!isPlanId(plan)) continue;
      const idBound = uuidV7Floor(now().getTime() - planOf(plan).retentionDays * dayMs);
      const purged = await purgeAccount(pool, { accountId: id, idBound, isStopping });
      total.trace += purged.trace;
      total.trace_context += purged.trace_context;
      total.span += purged.span;
      total.alert += purged.alert;
    }
    const salts = await purgeSalts(pool, now());
    const before = new Date(now().getTime() - idempotencyKeysMs);
    const idempotencyKeys = await purgeIdempotencyKeys(pool, { before, isStopping });
    const deletedBefore = new Date(now().getTime() - deletedTracesMs);
    const deletedTraces = await purgeDeletedTraces(pool, { before: deletedBefore, isStopping });
    const rateLimits = await purgeRateLimits(pool, now());
    const count = total.trace + total.span + total.alert;
    if (count > 0)
      log.info({ ...total, salts, idempotencyKeys, deletedTraces, rateLimits }, "data past its retention removed");
    return total;
  };
}
