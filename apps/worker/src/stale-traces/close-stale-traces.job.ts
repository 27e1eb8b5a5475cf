import type { AlertKey } from "@waymark/alerts";
import { createUuidV7 } from "@waymark/database";
import { QueueUnavailableError } from "@waymark/service/queue";
import type { JobDeps } from "../job-deps.js";
import {
  type Changed,
  closeStaleTraces,
  findQuietTraces,
  firstKey,
  inPortions,
  readLastWrites,
  type TraceKey,
} from "./close-stale-traces.query.js";
import { settleLocalRoots } from "./settle-local-roots.query.js";

interface StaleTracesDeps extends Omit<JobDeps, "now"> {
  queue: { add(alerts: readonly AlertKey[]): Promise<void> };
  staleAfterMs: number;
  /** The silence after which an OpenTelemetry trace without a root ends by its local root. */
  rootAfterMs: number;
}

/** A round goes on after so many portions that failed: one that takes too long does not keep others from their turn. */
const maxFailures = 10;

/** A silent trace ends at most a quarter of its time late, or a minute if this is shorter; a second at least. */
export function staleTracesIntervalMs(silences: Pick<StaleTracesDeps, "staleAfterMs" | "rootAfterMs">): number {
  return Math.min(Math.max(Math.min(silences.staleAfterMs, silences.rootAfterMs) / 4, 1_000), 60_000);
}

/** By their local root, or as `timeout`. Queues their alerts. Several workers may do so at once. */
export function createCloseStaleTraces(
  deps: StaleTracesDeps,
): () => Promise<{ closed: number; settled: number; alerts: number }> {
  const { pool, log, isStopping } = deps;
  const silences = { staleAfterMs: deps.staleAfterMs, rootAfterMs: deps.rootAfterMs, uuid: createUuidV7() };

  async function endTraces(quiet: readonly TraceKey[]): Promise<{ settled: Changed; closed: Changed }> {
    const written = await readLastWrites(pool, { traces: quiet, ...silences });
    const settled = await settleLocalRoots(pool, { traces: written.filter(({ lacksRoot }) => lacksRoot), ...silences });
    const others = [...written.filter(({ lacksRoot }) => !lacksRoot), ...settled.left];
    return { settled, closed: await closeStaleTraces(pool, { traces: others, ...silences }) };
  }

  return async () => {
    const total = { closed: 0, settled: 0, alerts: 0 };
    const failures: unknown[] = [];
    let after: TraceKey | undefined = firstKey;
    let isQueueUp = true;
    try {
      while (after && !isStopping()) {
        const page: Awaited<ReturnType<typeof findQuietTraces>> = await findQuietTraces(pool, { after, ...silences });
        const { traces } = page;
        after = page.end;
        if (traces.length === 0) continue;
        for (const [n, some] of (await inPortions(pool, traces)).entries()) {
          if (n > 0 && isStopping()) break;
          const ended = await endTraces(some).catch((error: unknown) => {
            if (failures.push(error) > maxFailures) throw error;
          });
          if (!ended) continue;
          const alerts = [...ended.settled.alerts, ...ended.closed.alerts];
          total.settled += ended.settled.closed;
          total.closed += ended.closed.closed;
          total.alerts += alerts.length;
          if (isQueueUp) isQueueUp = await tryToQueue(deps, alerts);
        }
      }
    } finally {
      if (total.closed + total.settled > 0) log.info(total, "stale traces closed");
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} portions of stale traces failed`);
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
