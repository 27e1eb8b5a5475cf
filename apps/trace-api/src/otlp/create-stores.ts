import { createSpanCompleter } from "./complete-spans.query.js";
import { createTraceFinder } from "./find-traces.query.js";
import { createLogsStore, type StoreLogsDeps } from "./store-logs.js";
import { createRunsStore } from "./store-runs.js";
import { createSpansStore, type StoreSpansDeps } from "./store-spans.js";

type Shared = "findTraces" | "completeSpans";
type StoresDeps = Omit<StoreSpansDeps, Shared | "countAccepted"> &
  Omit<StoreLogsDeps, Shared | "countAccepted"> & { countAccepted(kind: "span" | "log", count: number): void };

/** Makes what stores spans and log records: each completes spans with what the other has stored. */
export function createStores(deps: StoresDeps) {
  const own = { ...deps, findTraces: createTraceFinder(deps), completeSpans: createSpanCompleter(deps) };
  const storeSpans = createSpansStore(own);
  return { storeSpans, storeLogs: createLogsStore(own), storeRuns: createRunsStore({ ...own, storeSpans }) };
}
