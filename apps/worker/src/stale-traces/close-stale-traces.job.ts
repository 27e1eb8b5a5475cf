import type { AlertKey } from "@waymark/alerts";
import { createUuidV7 } from "@waymark/database";
import { QueueUnavailableError } from "@waymark/service/queue";
import type { JobDeps } from "../job-deps.js";
import { closeStaleTraces, findQuietTraces, firstKey, type TraceKey } from "./close-stale-traces.query.js";

interface StaleTracesDeps extends Omit<JobDeps, "now"> {
  queue: { add(alerts: readonly AlertKey[]): Promise<void> };
  staleAfterMs: number;
}

/** A stale trace closes at most a quarter of its time late, or a minute if this is shorter; a second at least. */
export function staleTracesIntervalMs(staleAfterMs: number): number {
  return Math.min(Math.max(staleAfterMs / 4, 1_000), 60_000);
}

/** Sets running traces without a write for so long to `timeout` and queues their alerts. Several workers may do so at once. */
export function createCloseStaleTraces(deps: StaleTracesDeps): () => Promise<{ closed: number; alerts: number }> {
  const { pool, log, staleAfterMs, isStopping } = deps;
  const uuid = createUuidV7();
  return async () => {
    const total = { closed: 0, alerts: 0 };
    let after: TraceKey | undefined = firstKey;
    let isQueueUp = true;
    try {
      while (after && !isStopping()) {
        const page: Awaited<ReturnType<typeof findQuietTraces>> = await findQuietTraces(pool, { after, staleAfterMs });
        const { traces } = page;
        after = page.end;
        if (traces.length === 0) continue;
        const { closed, alerts } = await closeStaleTraces(pool, { traces, staleAfterMs, uuid });
        total.closed += closed;
        total.alerts += alerts.length;
        if (isQueueUp) isQueueUp = await tryToQueue(deps, alerts);
      }
    } finally {
      if (total.closed > 0) log.info(total, "stale traces closed");
    }
    return total;
  };
}

/** Whether the queue took the alerts; otherwise the sweep finds them. */
async function tryToQueue({ queue }: StaleTracesDeps, alerts: AlertKey[]): Promise<boolean> {
  try {
    if (alerts.length > 0) await queue.add(alerts);
    return true;
  } catch (error) {
    if (!(error instanceof QueueUnavailableError)) throw error;
    return false;
  }
}
