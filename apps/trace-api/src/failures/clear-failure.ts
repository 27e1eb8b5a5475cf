import type { CreateGroupCommit } from "@waymark/database";
import { clearFailures, type FailedTrace } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";

/** Forgets what went wrong in a trace if it has failed; the next reader works it out anew. */
export type ClearFailure = (trace: FailedTrace) => Promise<void>;

/**
 * Called after the commit of a failing span, so that a late one counts (`packages/traces/src/failures`). Its own failure is
 * logged: the span is stored.
 */
export function createFailureClearer({
  pool,
  createGroupCommit,
  log,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  log: Pick<Logger, "warn">;
}): ClearFailure {
  const clear = createGroupCommit<FailedTrace, void>({
    name: "clear-failure",
    run: async (traces) => {
      await clearFailures(pool, traces);
      return traces.map(() => undefined);
    },
    // It waits for a reader that works the group out, on behalf of its own account alone.
    kindOf: ({ accountId }) => accountId,
    maxInFlight: 2,
  });
  return (trace) =>
    clear(trace).catch((err: unknown) => log.warn({ err, ...trace }, "a late span does not count in /failures"));
}
