import { AppError } from "@waymark/errors";
import type { MappedSpan } from "@waymark/otlp";
import type { TraceRoom } from "../spans/trace-room.js";
import type { AlertQueue } from "../traces/alert-queue.js";
import { createOtlpSpanStore } from "./add-spans.query.js";
import { decisionOf, isNewsTo } from "./decision.js";
import { createTraceEnsurer, type EnsureTraceDeps, type Sender } from "./ensure-trace.js";
import { createTraceSettler } from "./settle-trace.query.js";
import { groupByTrace, inPortions, isRoot, type TraceGroup } from "./trace-group.js";

export interface StoreSpansDeps extends EnsureTraceDeps {
  alerts: AlertQueue;
  room: TraceRoom;
}

/** How many spans of a request each limit refused. */
interface Refused {
  agent_limit: number;
  trace_limit: number;
  span_limit: number;
  context_limit: number;
}

/** How many spans of a request limits refused, and what is known of the month. */
export interface StoreSpansResult {
  refused: Refused;
  /** The month's count after the request, where it was read. */
  used: number | undefined;
}

/** What of one request is stored at a time, so that the largest does not crowd out the others. */
const portion = { traces: 200, spans: 2_000 };
/** Spans of one trace that go into one statement, with those of others. */
const maxSpansTogether = 500;
/** Of one trace, so many of these at a time. */
const maxTogetherAtOnce = 4;
/** How often spans are stored anew whose trace was deleted while they came. */
const maxAttempts = 2;

/**
 * Stores the spans of requests: finds or creates their traces, adds the spans, and lets roots decide. Each step can be
 * repeated, so that a client that sends again what was cut off mends it.
 */
export function createSpansStore(deps: StoreSpansDeps) {
  const { room } = deps;
  const ensureTrace = createTraceEnsurer(deps);
  const addSpans = createOtlpSpanStore(deps);
  const settle = createTraceSettler(deps);

  async function addPart(accountId: string, traceId: string, spans: readonly MappedSpan[], refused: Refused) {
    const hasRoom = await room.take(accountId, traceId, spans.length);
    const result = hasRoom ? await addSpans({ accountId, traceId, spans }) : "span_limit";
    if (result === "span_limit" || result === "context_limit") refused[result] += spans.length;
    return result;
  }

  /** @returns whether the trace was found */
  async function addGroup(accountId: string, traceId: string, spans: readonly MappedSpan[], refused: Refused) {
    for (let i = 0; i < spans.length; i += maxSpansTogether * maxTogetherAtOnce) {
      const parts = Array.from({ length: maxTogetherAtOnce }, (_, n) =>
        spans.slice(i + n * maxSpansTogether, i + (n + 1) * maxSpansTogether),
      ).filter((part) => part.length > 0);
      const results = await Promise.all(parts.map((part) => addPart(accountId, traceId, part, refused)));
      if (results.includes("trace_not_found")) return false;
    }
    return true;
  }

  async function storeGroup(sender: Sender, group: TraceGroup, result: StoreSpansResult): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const trace = await ensureTrace(sender, group);
      if (trace.used !== undefined) result.used = Math.max(result.used ?? 0, trace.used);
      if ("refusedBy" in trace) {
        result.refused[trace.refusedBy] += group.spans.length;
        return;
      }
      const { accountId } = sender;
      if (!(await addGroup(accountId, trace.stored.id, group.spans, result.refused))) continue;
      if (!isNewsTo(trace.stored, group.decisive)) return;
      const owesMail = sender.plan.failureMails && isRoot(group.decisive) && group.decisive.status === "error";
      const alertId = owesMail ? deps.uuid() : null;
      const owed = await settle(decisionOf(accountId, trace.stored, group.decisive, alertId));
      if (owed && alertId !== null) deps.alerts.add({ accountId, alertId });
      return;
    }
    const cause = new Error("a trace was deleted again and again while its spans came");
    throw new AppError("unavailable", { headers: { "Retry-After": "1" }, cause });
  }

  return async (sender: Sender, spans: readonly MappedSpan[]): Promise<StoreSpansResult> => {
    const result: StoreSpansResult = {
      refused: { agent_limit: 0, trace_limit: 0, span_limit: 0, context_limit: 0 },
      used: undefined,
    };
    for (const groups of inPortions(groupByTrace(spans), portion)) {
      await Promise.all(groups.map((group) => storeGroup(sender, group, result)));
    }
    return result;
  };
}
