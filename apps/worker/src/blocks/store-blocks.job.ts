import { listAccountsToBlock, storeBlocks } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";

/** Stores blocks of traces, account by account, for searches to skip. */
export function createStoreBlocks({
  pool,
  log,
  isStopping,
}: {
  pool: pg.Pool;
  log: Logger;
  isStopping(): boolean;
}): () => Promise<void> {
  return async () => {
    for await (const accountId of listAccountsToBlock(pool)) {
      if (isStopping()) return;
      try {
        const blocks = await storeBlocks(pool, accountId, isStopping);
        if (blocks > 0) log.info({ accountId, blocks }, "blocks of traces stored");
      } catch (err) {
        log.error({ err, accountId }, "traces of an account are not in blocks; the next round tries again");
      }
    }
  };
}
