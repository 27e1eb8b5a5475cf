import { createSpanCompleter } from "./complete-spans.query.js";
import { createRunExtender } from "./extend-runs.query.js";
import { createTraceFinder, findStored } from "./find-traces.query.js";
import { createLogsStore, type StoreLogsDeps } from "./store-logs.js";
import { createSpansStore, type StoreSpans, type StoreSpansDeps } from "./store-spans.js";

type Shared = "findTraces" | "completeSpans";
type StoresDeps = Omit<StoreSpansDeps, Shared | "countAccepted"> &
  Omit<StoreLogsDeps, Shared | "countAccepted"> & { countAccepted(kind: "span" | "log", count: number): void };

/** Makes what stores spans and log records: each completes spans with what the other has stored. */
export function createStores(deps: StoresDeps) {
  const findTraces = createTraceFinder(deps);
  const own = { ...deps, findTraces, completeSpans: createSpanCompleter(deps) };
  const storeSpans = createSpansStore(own);
  const extendRun = createRunExtender(deps);
  /** Stores the spans of agents' events, and moves the ends of their runs. */
  const storeRuns: StoreSpans = async (sender, spans) => {
    const stored = await storeSpans(sender, spans);
    const traceIds = spans.map(({ traceId }) => traceId);
    for await (const runs of findStored(findTraces, sender.accountId, traceIds))
      for (const run of runs) await extendRun(run);
    return stored;
  };
  return { storeSpans, storeLogs: createLogsStore(own), storeRuns };
}
