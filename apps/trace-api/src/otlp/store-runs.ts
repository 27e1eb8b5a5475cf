import type { Batched } from "@waymark/database";
import type { Batching } from "@waymark/traces";
import { createRunExtender } from "./extend-runs.query.js";
import { type FoundTrace, maxTracesToFind, type OtlpTracesToFind } from "./find-traces.query.js";
import type { StoreSpans } from "./store-spans.js";

interface RunsDeps extends Batching {
  findTraces: Batched<OtlpTracesToFind, FoundTrace[]>;
  storeSpans: StoreSpans;
}

/** Stores the spans of agents' events, and moves the ends of their runs. */
export function createRunsStore(deps: RunsDeps): StoreSpans {
  const extendRun = createRunExtender(deps);
  return async (sender, spans) => {
    const stored = await deps.storeSpans(sender, spans);
    const { accountId } = sender;
    const otelTraceIds = [...new Set(spans.map(({ traceId }) => traceId))];
    for (let i = 0; i < otelTraceIds.length; i += maxTracesToFind) {
      const found = await deps.findTraces({ accountId, otelTraceIds: otelTraceIds.slice(i, i + maxTracesToFind) });
      for (const trace of found) if (trace && trace !== "deleted") await extendRun({ accountId, traceId: trace.id });
    }
    return stored;
  };
}
