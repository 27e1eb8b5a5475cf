import { canAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import type { MappedSpan } from "@waymark/otlp";
import { AccountAgents } from "../agents/account-agents.query.js";
import type { TraceCapacity } from "../spans/trace-capacity.js";
import type { AlertQueue } from "../traces/alert-queue.js";
import { readUsedTraces } from "../usage/read-used-traces.query.js";
import { createOtlpSpanStore } from "./add-spans.query.js";
import { createTraceEnsurer, type EnsureTraceDeps, type RequestState, type Sender } from "./find-or-create-trace.js";
import { createTraceFinder, type FoundTrace, maxTracesToFind } from "./find-traces.query.js";
import { decisionOf, isNewsTo } from "./root-span.js";
import { groupByTrace, inPortions, isRoot, ownBytes, sizeOfGroup, type TraceGroup } from "./trace-group.js";
import { createTraceSettler } from "./update-trace.query.js";

export interface StoreSpansDeps extends Omit<EnsureTraceDeps, "findTraces"> {
  alerts: AlertQueue;
  capacity: TraceCapacity;
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

/** What of one request is stored at a time: the largest crowds out no others, and stays within its account's share. */
const portion = { spans: 2_000, bytes: 4 * 1_048_576 };
const maxTracesAtOnce = 200;
/** Spans of one trace that go into one statement, with those of others. */
const maxSpansTogether = 500;
/** How often spans are stored anew whose trace was deleted while they came. */
const maxAttempts = 2;

/**
 * Stores the spans of requests: finds or creates their traces, adds the spans, and lets roots decide. Each step can be
 * repeated, so that a client that sends again what was cut off mends it.
 */
export function createSpansStore(deps: StoreSpansDeps) {
  const findTraces = createTraceFinder(deps);
  const ensureTrace = createTraceEnsurer({ ...deps, findTraces });
  const addGroup = createGroupAdder(deps);
  const settle = createTraceSettler(deps);

  async function storeGroup(request: RequestState, { group, trace: found }: Work, refused: Refused): Promise<void> {
    const { sender } = request;
    const { accountId } = sender;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const trace = await ensureTrace(request, group, attempt === 1 ? { trace: found } : undefined);
      if ("isDeleted" in trace) return;
      if ("refusedBy" in trace) {
        refused[trace.refusedBy] += group.spans.length;
        return;
      }
      if (!(await addGroup(accountId, trace.stored.id, group.spans, refused))) continue;
      if (!isNewsTo(trace.stored, group.decisive)) return;
      const mayAlert = isRoot(group.decisive) && canAlert(sender.plan, group.decisive.status);
      const alertId = mayAlert ? deps.uuid() : null;
      const keepsAgent = request.agents !== undefined;
      const isAlertNew = await settle(decisionOf(accountId, trace.stored, group.decisive, { alertId, keepsAgent }));
      if (isAlertNew && alertId !== null) deps.alerts.add({ accountId, alertId });
      return;
    }
    const cause = new Error("a trace was deleted again and again while its spans came");
    throw new AppError("unavailable", { headers: { "Retry-After": "1" }, cause });
  }

  /** Stores, one by one and roots first, those groups that decide about the account's agents, until there is no room for more. */
  async function storeDeciding(request: RequestState, agents: AccountAgents, work: readonly Work[], refused: Refused) {
    const isOfRoot = ({ group }: Work) => isRoot(group.decisive);
    const naming = work.filter(namesAgent);
    await agents.read(new Set(naming.map(({ group }) => group.decisive.agentId)));
    const alone = new Set<Work>();
    for (const each of [...naming.filter(isOfRoot), ...naming.filter((other) => !isOfRoot(other))]) {
      const { agentId } = each.group.decisive;
      const isOpen = isOfRoot(each) ? agents.standingOf(agentId) === "open" : agents.standInFor(agentId) === undefined;
      if (!isOpen) continue;
      alone.add(each);
      await storeGroup(request, each, refused);
    }
    return alone;
  }

  /** Stores groups whose traces are looked for together. */
  async function storeGroups(request: RequestState, groups: readonly TraceGroup[], refused: Refused): Promise<void> {
    const { accountId } = request.sender;
    const found = await findTraces({ accountId, otelTraceIds: groups.map(({ otelTraceId }) => otelTraceId) });
    const work = groups.map((group, n) => ({ group, trace: found[n] })).filter(({ trace }) => trace !== "deleted");
    const alone = request.agents ? await storeDeciding(request, request.agents, work, refused) : new Set<Work>();
    const others = work.filter((each) => !alone.has(each));
    for (const part of inPortions(others, { ...portion, items: maxTracesAtOnce }, ({ group }) => sizeOfGroup(group))) {
      await Promise.all(part.map((each) => storeGroup(request, each, refused)));
    }
  }

  return async (sender: Sender, spans: readonly MappedSpan[]): Promise<StoreSpansResult> => {
    const refused = { agent_limit: 0, trace_limit: 0, span_limit: 0, context_limit: 0 };
    const { accountId, month, plan } = sender;
    const agents =
      plan.agents === null
        ? undefined
        : new AccountAgents(deps.pool, { accountId, maxAgents: plan.agents }, deps.knownAgents);
    const request: RequestState = { sender, agents, used: undefined, isMonthFull: false };
    const groups = groupByTrace(spans);
    for (let i = 0; i < groups.length; i += maxTracesToFind) {
      await storeGroups(request, groups.slice(i, i + maxTracesToFind), refused);
    }
    if (refused.agent_limit > 0) request.used ??= await readUsedTraces(deps.pool, { accountId, month });
    return { refused, used: request.used };
  };
}

/** Adds the spans of a trace, as far as it has room for them; false where there is no such trace. */
function createGroupAdder(deps: StoreSpansDeps) {
  const addSpans = createOtlpSpanStore(deps);

  async function addPart(accountId: string, traceId: string, spans: readonly MappedSpan[], refused: Refused) {
    const hasCapacity = await deps.capacity.take(accountId, traceId, spans.length);
    const result = hasCapacity ? await addSpans({ accountId, traceId, spans }) : "span_limit";
    if (result === "span_limit" || result === "context_limit") refused[result] += spans.length;
    return result;
  }

  return async (
    accountId: string,
    traceId: string,
    spans: readonly MappedSpan[],
    refused: Refused,
  ): Promise<boolean> => {
    const sizeOf = (span: MappedSpan) => ({ spans: 1, bytes: ownBytes(span) });
    for (const together of inPortions(spans, { ...portion, items: portion.spans }, sizeOf)) {
      const starts = Array.from(
        { length: Math.ceil(together.length / maxSpansTogether) },
        (_, n) => n * maxSpansTogether,
      );
      const parts = starts.map((start) => together.slice(start, start + maxSpansTogether));
      const results = await Promise.all(parts.map((part) => addPart(accountId, traceId, part, refused)));
      if (results.includes("trace_not_found")) return false;
    }
    return true;
  };
}

/** A group, and what was found of its trace. */
interface Work {
  group: TraceGroup;
  trace: FoundTrace;
}

/** Whether the group's decisive span may say which agent the trace counts for. */
function namesAgent({ group: { decisive }, trace }: Work): boolean {
  if (trace === undefined) return true;
  return trace !== "deleted" && isRoot(decisive) && isNewsTo(trace, decisive);
}
