import { createWorkShares, type Refusals, type WorkShares } from "@waymark/http";

/** Shares the connections for figures, so one account's slow reads leave connections to all others. */
export interface ReadShares {
  /** Runs a read when it is the account's turn. */
  read: WorkShares["run"];
}

interface ReadShareOptions {
  refusals: Refusals;
  /** Concurrent reads over all accounts. */
  maxReading: number;
  maxWaitingPerAccount?: number;
}

/** Creates the shares of one pool. */
export function createReadShares({ refusals, maxReading, maxWaitingPerAccount = 8 }: ReadShareOptions): ReadShares {
  const limits = {
    tasks: "reads",
    owner: "account",
    maxRunning: maxReading,
    // Two, so a slow statement does not delay a quick one.
    maxRunningPerOwner: 2,
    maxWaiting: 200,
    maxWaitingPerOwner: maxWaitingPerAccount,
    // A read takes milliseconds. After this long, the statements before it run into their timeout.
    maxWaitMs: 3_000,
  };
  return { read: createWorkShares(limits, refusals).run };
}
