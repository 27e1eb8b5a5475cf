import { createWorkShares, type Refusals, type WorkShares } from "@waymark/service/http";

/** Shares the connections for figures, so one account's slow reads leave connections to all others. */
export interface ReadShares {
  read: WorkShares["run"];
  /** Runs a read of columns, for filters, goals and funnels: it holds much memory for long. */
  readColumns: WorkShares["run"];
}

interface ReadShareOptions {
  refusals: Refusals;
  /** Concurrent reads over all accounts. */
  maxReading: number;
  maxWaitingPerAccount?: number;
}

export function createReadShares({ refusals, maxReading, maxWaitingPerAccount = 8 }: ReadShareOptions): ReadShares {
  const shared = { owner: "account", maxWaiting: 200, maxWaitingPerOwner: maxWaitingPerAccount };
  const reads = {
    ...shared,
    tasks: "reads",
    maxRunning: maxReading,
    // Two, so a slow statement does not delay a quick one.
    maxRunningPerOwner: 2,
    // A read takes milliseconds. After this long, the statements before it run into their timeout.
    maxWaitMs: 3_000,
  };
  const columnReads = {
    ...shared,
    tasks: "filtered_reads",
    // Each holds up to 48 MiB, and two leave one account's days to others.
    maxRunning: Math.min(2, maxReading),
    maxRunningPerOwner: 1,
    // A page asks for several at once, one after the other.
    maxWaitMs: 10_000,
  };
  return { read: createWorkShares(reads, refusals).run, readColumns: createWorkShares(columnReads, refusals).run };
}
