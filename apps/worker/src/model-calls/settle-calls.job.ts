import { listAccountsWithDueCalls, settleCalls } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";

/** Books new model calls in the daily sums, account by account, so that readers find little left to do. */
export function createSettleCalls({
  pool,
  log,
  isStopping,
}: {
  pool: pg.Pool;
  log: Logger;
  isStopping(): boolean;
}): () => Promise<void> {
  return async () => {
    for (const accountId of await listAccountsWithDueCalls(pool)) {
      if (isStopping()) return;
      try {
        await settleCalls(pool, accountId);
      } catch (err) {
        log.error({ err, accountId }, "model calls of an account are not settled; the next round tries again");
      }
    }
  };
}
