import { utcMonth } from "@waymark/plan";
import { dropNoise, listAccountsToBlock, listAccountsWithDueCalls, settleCalls, storeBlocks } from "@waymark/traces";
import type { JobDeps } from "./job-deps.js";

type RoundDeps = Omit<JobDeps, "now">;

export function createSettleCalls(deps: RoundDeps): () => Promise<void> {
  const settle = (accountId: string) => settleCalls(deps.pool, accountId);
  return async () =>
    eachAccount(await listAccountsWithDueCalls(deps.pool), settle, "model calls of an account are not settled", deps);
}

export function createStoreBlocks(deps: RoundDeps): () => Promise<void> {
  const { pool, log, isStopping } = deps;
  const store = async (accountId: string) => {
    const blocks = await storeBlocks(pool, accountId, isStopping);
    if (blocks > 0) log.info({ accountId, blocks }, "blocks of traces stored");
  };
  return () => eachAccount(listAccountsToBlock(pool), store, "traces of an account are not in blocks", deps);
}

/** Works through accounts. A failed one is logged, and the others go on. */
async function eachAccount(
  accountIds: Iterable<string> | AsyncIterable<string>,
  work: (accountId: string) => Promise<unknown>,
  failure: string,
  { log, isStopping }: RoundDeps,
): Promise<void> {
  for await (const accountId of accountIds) {
    if (isStopping()) return;
    try {
      await work(accountId);
    } catch (err) {
      log.error({ err, accountId }, `${failure}; the next round tries again`);
    }
  }
}

/** A span of an agent may come this long after the root, or after another span: its end may be long after theirs. */
const endedAfterMs = 300_000;
const silentAfterMs = 3_600_000;

export function createDropNoise({ pool, log, now, isStopping }: JobDeps): () => Promise<void> {
  return async () => {
    const month = utcMonth(now()).firstDay;
    const traces = await dropNoise(pool, { endedAfterMs, silentAfterMs, month, isStopping });
    if (traces > 0) log.info({ traces }, "traces without an agent dropped");
  };
}
