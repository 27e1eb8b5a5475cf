import { createPartitions, keepVisitorDays, purgeEvents } from "@waymark/web-stats/analytics";
import type { JobDeps } from "../job-deps.js";

interface KeepEventsDeps extends JobDeps {
  /** Months of raw events to keep besides the present one; undefined for all. */
  eventRetentionMonths: number | undefined;
}

/** Makes partitions of events and visitors before the first event needs them, and removes those past retention. */
export function createKeepEvents(deps: KeepEventsDeps): () => Promise<void> {
  const { pool, log, eventRetentionMonths: months, now, isStopping } = deps;
  const partitions = createPartitions(pool, () => now().getTime());
  return async () => {
    await partitions.ensure([monthOf(now(), 0), monthOf(now(), 1)]);
    const days = await keepVisitorDays(pool);
    if (days.length > 0) log.info({ days }, "days of visitors dropped");
    if (months === undefined) return;
    const purged = await purgeEvents(pool, { firstMonth: monthOf(now(), -months), isStopping });
    if (purged.partitions.length > 0 || purged.rows > 0)
      log.info({ ...purged }, "raw events past their retention removed");
  };
}

function monthOf(time: Date, months: number): string {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1)).toISOString().slice(0, 10);
}
