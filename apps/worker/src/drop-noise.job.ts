import { utcMonth } from "@waymark/plan";
import { dropNoise } from "@waymark/traces";
import type { JobDeps } from "./job-deps.js";

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
