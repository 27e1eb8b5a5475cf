import { queueAlerts } from "@waymark/alerts";
import { createUuidV7 } from "@waymark/database";
import { QueueUnavailableError, type TraceFinalized, type TraceFinalizedQueue } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { closeStaleRuns, findQuietRuns, firstKey, type RunKey } from "./close-stale-runs.query.js";

export interface StaleRunsDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
  log: Logger;
  /** A running trace whose last write is longer ago is closed. */
  staleAfterMs: number;
  /** Asked between pages. */
  isStopping(): boolean;
}

/**
 * How often to look, so that a silent run is closed at most a quarter of its time late, or a minute if that is shorter.
 * @returns milliseconds, from a second to a minute
 */
export function staleRunsIntervalMs(staleAfterMs: number): number {
  return Math.min(Math.max(staleAfterMs / 4, 1_000), 60_000);
}

/**
 * Closes runs that died silently: sets running traces without a write for so long to `timeout`, and owes and queues the
 * mails of accounts that get them. Several workers may do so at once.
 */
export function createCloseStaleRuns(deps: StaleRunsDeps): () => Promise<{ closed: number; owed: number }> {
  const { pool, log, staleAfterMs, isStopping } = deps;
  const uuid = createUuidV7();
  return async () => {
    const total = { closed: 0, owed: 0 };
    let after: RunKey | undefined = firstKey;
    let isQueueUp = true;
    try {
      while (after && !isStopping()) {
        const { runs, end }: { runs: RunKey[]; end: RunKey | undefined } = await findQuietRuns(pool, {
          after,
          staleAfterMs,
        });
        after = end;
        if (runs.length === 0) continue;
        const { closed, alerts } = await closeStaleRuns(pool, { runs, staleAfterMs, uuid });
        total.closed += closed;
        total.owed += alerts.length;
        if (isQueueUp) isQueueUp = await tryToQueue(deps, alerts);
      }
    } finally {
      if (total.closed > 0) log.info(total, "silent runs closed");
    }
    return total;
  };
}

/** Whether the queue took the alerts; the sweep finds those that it did not. */
async function tryToQueue(deps: Pick<StaleRunsDeps, "pool" | "queue">, alerts: TraceFinalized[]): Promise<boolean> {
  try {
    await queueAlerts(deps, alerts);
    return true;
  } catch (error) {
    if (!(error instanceof QueueUnavailableError)) throw error;
    return false;
  }
}
