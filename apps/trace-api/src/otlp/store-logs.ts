import type { Batched } from "@waymark/database";
import type { Batching, ClearFailure } from "@waymark/traces";
import type { MappedLog } from "@waymark/traces/otlp";
import type { Sender } from "../usage/trace-quota.js";
import { bytesOfLog, createLogStore } from "./add-logs.query.js";
import type { CompleteSpans } from "./complete-spans.query.js";
import { type FoundTrace, findStored, type OtlpTracesToFind } from "./find-traces.query.js";
import { inPortions } from "./trace-group.js";

export interface StoreLogsDeps extends Batching {
  findTraces: Batched<OtlpTracesToFind, FoundTrace[]>;
  completeSpans: CompleteSpans;
  clearFailure: ClearFailure;
  countAccepted(kind: "log", count: number): void;
}

/** How many records of a request each limit refused, and the month's bytes as far as it met them. */
export interface StoreLogsResult {
  refused: { span_logs: number; waiting_logs: number; byte_limit: number };
  usedBytes: number | undefined;
}

/** Stored by one statement. */
const portion = { items: 500, spans: 500, bytes: 4 * 1_048_576 };
const maxTracesAtOnce = 50;

export type StoreLogs = (sender: Sender, logs: readonly MappedLog[]) => Promise<StoreLogsResult>;

/** Records of other spans wait. Each step is idempotent, so a client that repeats a request completes it. */
export function createLogsStore(deps: StoreLogsDeps): StoreLogs {
  const addLogs = createLogStore(deps);

  async function completeTraces(accountId: string, otelTraceIds: readonly string[]): Promise<void> {
    const complete = async (trace: Parameters<CompleteSpans>[0]) => {
      if (await deps.completeSpans(trace)) await deps.clearFailure(trace);
    };
    for await (const traces of findStored(deps.findTraces, accountId, otelTraceIds))
      for (let i = 0; i < traces.length; i += maxTracesAtOnce)
        await Promise.all(traces.slice(i, i + maxTracesAtOnce).map(complete));
  }

  return async ({ accountId, plan, month }, logs) => {
    const refused = { span_logs: 0, waiting_logs: 0, byte_limit: 0 };
    let usedBytes: number | undefined;
    const different = new Map(logs.map((log) => [`${log.traceId}${log.spanId}${log.id}`, log]));
    const sizeOf = (log: MappedLog) => ({ spans: 1, bytes: bytesOfLog(log) });
    for (const part of inPortions([...different.values()], portion, sizeOf)) {
      const result = await addLogs({ accountId, plan, month: month.firstDay, logs: part });
      usedBytes = Math.max(usedBytes ?? 0, result.usedBytes);
      if (result.outcome === "byte_limit") refused.byte_limit += part.length;
      else {
        refused.span_logs += result.span_logs;
        refused.waiting_logs += result.waiting_logs;
        deps.countAccepted("log", part.length - result.span_logs - result.waiting_logs);
      }
    }
    const traceIds = logs.map(({ traceId }) => traceId);
    await completeTraces(accountId, traceIds);
    return { refused, usedBytes };
  };
}
