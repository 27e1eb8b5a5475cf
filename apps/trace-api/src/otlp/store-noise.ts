import { type Batched, smallestUuid } from "@waymark/database";
import { type Batching, oneByOne } from "@waymark/traces";
import type { Sender } from "../usage/trace-quota.js";
import { type FoundTrace, maxTracesToFind, type OtlpTracesToFind, type StoredTrace } from "./find-traces.query.js";
import { createPartsStore, deletePart, findPending, partsOf, readPart } from "./pending-spans.query.js";
import { groupByTrace, inPortions, type TraceGroup } from "./trace-group.js";

type NoiseDeps = Batching & { findTraces: Batched<OtlpTracesToFind, FoundTrace[]> };

const portion = { items: 500, spans: Number.POSITIVE_INFINITY, bytes: 1_048_576 };

export interface PendingResult {
  refused: { span_limit: number; byte_limit: number };
  usedBytes: number | undefined;
}

/** Makes what keeps the spans of traces without a span of an agent aside: nobody sees or counts them. */
export function createPendingStore(deps: Batching) {
  const addParts = createPartsStore(deps);
  return async ({ accountId, plan, month }: Sender, groups: readonly TraceGroup[]): Promise<PendingResult> => {
    const result: PendingResult = { refused: { span_limit: 0, byte_limit: 0 }, usedBytes: undefined };
    for (const parts of inPortions(partsOfAll(groups), portion, (part) => part)) {
      const added = await addParts({ accountId, plan, month: month.firstDay, parts });
      result.usedBytes = Math.max(result.usedBytes ?? 0, added.usedBytes);
      if (added.outcome === "stored") result.refused.span_limit += added.refused;
      else result.refused.byte_limit += parts.reduce((sum, { spans }) => sum + spans, 0);
    }
    return result;
  };
}

function* partsOfAll(groups: readonly TraceGroup[]) {
  for (const group of groups) yield* partsOf(group);
}

/** Stores a part of a trace as the request would have; false where it is to stay aside. */
type StorePart = (group: TraceGroup, trace: StoredTrace) => Promise<boolean>;

interface PartsOfTrace {
  accountId: string;
  otelTraceId: string;
  store: StorePart;
}

/**
 * Makes what moves pending spans into their traces, once these exist. A writer of pending spans looks for the trace after its
 * commit, and the creator of a trace looks for pending spans after its own: one of two at once sees the other. A part goes once
 * it is stored, so an interrupted request is completed by its repetition.
 */
export function createPendingMover(deps: NoiseDeps) {
  const { pool, findTraces } = deps;
  const move = oneByOne<PartsOfTrace, void>(
    deps,
    "move-pending-spans",
    async (_pool, { accountId, otelTraceId, store }) => {
      for (let after = smallestUuid; ; ) {
        const part = await readPart(pool, accountId, otelTraceId, after);
        if (!part) return;
        after = part.id;
        const [trace] = await findTraces({ accountId, otelTraceIds: [otelTraceId] });
        if (!trace) return;
        const [group] = groupByTrace(part.spans);
        const isStored = trace === "deleted" || !group || (await store(group, trace));
        if (isStored) await deletePart(pool, accountId, otelTraceId, part.id);
      }
    },
  );
  return async (accountId: string, otelTraceIds: readonly string[], store: StorePart): Promise<void> => {
    for (let i = 0; i < otelTraceIds.length; i += maxTracesToFind) {
      const pending = await findPending(pool, accountId, otelTraceIds.slice(i, i + maxTracesToFind));
      for (const otelTraceId of pending) await move({ accountId, otelTraceId, store });
    }
  };
}
