import { canAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { type ClearFailure, readUsedTraces } from "@waymark/traces";
import { type MappedSpan, nameOf, type TraceName } from "@waymark/traces/otlp";
import { AccountAgents } from "../agents/known-agents.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import type { TraceCapacity } from "../spans/trace-capacity.js";
import type { AlertQueue } from "../traces/alert-queue.js";
import type { StoreVisit } from "../traces/visits.query.js";
import type { Sender } from "../usage/trace-quota.js";
import { createEvaluationStore, createOtlpSpanStore } from "./add-spans.query.js";
import type { CompleteSpans } from "./complete-spans.query.js";
import { createFindOrCreateTrace, type FindOrCreateTraceDeps, type RequestState } from "./find-or-create-trace.js";
import { changesLabels, type FoundTrace, maxTracesToFind, type StoredTrace } from "./find-traces.query.js";
import { createPendingMover, createPendingStore } from "./store-noise.js";
import {
  agentsOf,
  changesTrace,
  failsTrace,
  groupByTrace,
  inPortions,
  isRoot,
  ownBytes,
  retellsAgent,
  sizeOfGroup,
  type TraceGroup,
  traceUpdateOf,
} from "./trace-group.js";
import { createTraceUpdater } from "./update-trace.query.js";

export interface StoreSpansDeps extends FindOrCreateTraceDeps {
  completeSpans: CompleteSpans;
  alerts: AlertQueue;
  capacity: TraceCapacity;
  clearFailure: ClearFailure;
  priceUsage: PriceUsage;
  storeVisit: StoreVisit;
  countAccepted(kind: "span", count: number): void;
}

interface Refused {
  agent_limit: number;
  trace_limit: number;
  span_limit: number;
  context_limit: number;
  byte_limit: number;
}

const nothingRefused = (): Refused => {
  return { agent_limit: 0, trace_limit: 0, span_limit: 0, context_limit: 0, byte_limit: 0 };
};

export interface StoreSpansResult {
  refused: Refused;
  /** The month's traces after the request, if it read their number. */
  used: number | undefined;
  /** The month's bytes, if the request met them. */
  usedBytes: number | undefined;
}

/** Stored at a time of one request, so the largest leaves room for others and stays within its account's share. */
const portion = { spans: 2_000, bytes: 4 * 1_048_576 };
const maxTracesAtOnce = 200;
/** Of one trace in one batch; a statement takes several batches. */
const maxSpansPerBatch = 500;
const anySpan = { spans: 1, bytes: 0 };
/** Of inputs that a request reads for names, at 200 MiB a second. */
const maxAskedBytes = 1_048_576;
/** Attempts to store spans whose trace is deleted meanwhile. */
const maxAttempts = 2;

export type StoreSpans = (sender: Sender, spans: readonly MappedSpan[]) => Promise<StoreSpansResult>;

/** Each step is idempotent, so a client that repeats an interrupted request completes it. */
export function createSpansStore(deps: StoreSpansDeps): StoreSpans {
  const { findTraces } = deps;
  const storeGroup = createGroupStore(deps);
  const { setAside, moveAllPending } = createAside(deps, storeGroup);

  /** Stores one by one, root spans first, the groups that may claim an agent, until the account may have no further agent. */
  async function storeClaims(
    request: RequestState,
    agents: AccountAgents,
    work: readonly FoundGroup[],
    refused: Refused,
  ) {
    const isOfRoot = ({ group }: FoundGroup) => isRoot(group.rootOrFirst);
    const claiming = work.filter(mayClaimAgent);
    await agents.read(new Set(claiming.flatMap(({ group, trace }) => agentsOf(group, trace))));
    const stored = new Set<FoundGroup>();
    for (const each of [...claiming.filter(isOfRoot), ...claiming.filter((other) => !isOfRoot(other))]) {
      const wanted = agentsOf(each.group, each.trace);
      const isOpen = wanted.some((agentId) => agents.standingOf(agentId) === "open");
      if (!isOpen) continue;
      stored.add(each);
      await storeGroup(request, each, refused);
    }
    return stored;
  }

  /** Stores groups whose traces one look-up finds. */
  async function storeGroups(request: RequestState, groups: readonly TraceGroup[], refused: Refused): Promise<void> {
    const { accountId } = request.sender;
    const found = await findTraces({ accountId, otelTraceIds: groups.map(({ otelTraceId }) => otelTraceId) });
    const all = groups.map((group, n) => ({ group, trace: found[n] })).filter(({ trace }) => trace !== "deleted");
    const work = request.sender.keepsAgents ? await setAside(request, all, refused) : all;
    const stored = request.agents ? await storeClaims(request, request.agents, work, refused) : new Set<FoundGroup>();
    const others = work.filter((each) => !stored.has(each));
    for (const part of inPortions(others, { ...portion, items: maxTracesAtOnce }, ({ group }) => sizeOfGroup(group))) {
      await Promise.all(part.map((each) => storeGroup(request, each, refused)));
    }
    if (request.sender.keepsAgents) await moveAllPending(request, groups);
  }

  return async (sender, spans) => {
    const refused = nothingRefused();
    const { accountId, month, plan, leaveOut } = sender;
    const agents =
      plan.agents === null
        ? undefined
        : new AccountAgents(deps.pool, { accountId, maxAgents: plan.agents }, deps.knownAgents);
    const askBudget = { bytes: maxAskedBytes };
    const request: RequestState = {
      sender,
      agents,
      used: undefined,
      usedBytes: undefined,
      isMonthFull: false,
      askBudget,
    };
    const groups = groupByTrace(spans.filter(({ observes }) => observes === null || !leaveOut.includes(observes)));
    for (let i = 0; i < groups.length; i += maxTracesToFind) {
      await storeGroups(request, groups.slice(i, i + maxTracesToFind), refused);
    }
    if (refused.agent_limit > 0) request.used ??= await readUsedTraces(deps.pool, { accountId, month: month.firstDay });
    return { refused, used: request.used, usedBytes: request.usedBytes };
  };
}

/** Makes what accounts need that keep traces of agents alone. */
function createAside(deps: StoreSpansDeps, storeGroup: ReturnType<typeof createGroupStore>) {
  const addPending = createPendingStore(deps);
  const movePending = createPendingMover(deps);

  /** Keeps the groups aside whose traces do not exist and have no span of an agent; returns the others. */
  async function setAside(request: RequestState, work: readonly FoundGroup[], refused: Refused) {
    const isNoise = ({ group, trace }: FoundGroup) => !trace && !group.spans.some(({ isOfAgent }) => isOfAgent);
    const noise = work.filter(isNoise).map(({ group }) => group);
    const pending = await addPending(request.sender, noise);
    refused.span_limit += pending.refused.span_limit;
    refused.byte_limit += pending.refused.byte_limit;
    if (pending.usedBytes !== undefined) request.usedBytes = Math.max(request.usedBytes ?? 0, pending.usedBytes);
    return work.filter((each) => !isNoise(each));
  }

  async function moveAllPending(request: RequestState, groups: readonly TraceGroup[]): Promise<void> {
    const otelTraceIds = groups.map(({ otelTraceId }) => otelTraceId);
    await movePending(request.sender.accountId, otelTraceIds, async (group, trace) => {
      const refused = nothingRefused();
      await request.agents?.read(new Set(agentsOf(group, trace)));
      await storeGroup(request, { group, trace }, refused);
      return refused.byte_limit === 0;
    });
  }

  return { setAside, moveAllPending };
}

function createGroupStore(deps: StoreSpansDeps) {
  const findOrCreateTrace = createFindOrCreateTrace(deps);
  const addGroup = createGroupAdder(deps);
  const addEvaluations = createEvaluationStore(deps);
  const updateTrace = createTraceUpdater(deps);

  return async (request: RequestState, { group, trace: found }: FoundGroup, refused: Refused): Promise<void> => {
    const { sender } = request;
    const { accountId } = sender;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const trace = await findOrCreateTrace(request, group, attempt === 1 ? { trace: found } : undefined);
      if ("isDeleted" in trace) return;
      if ("refusedBy" in trace) {
        refused[trace.refusedBy] += group.spans.length;
        return;
      }
      if (!(await addGroup(request, trace.stored.id, group.spans, refused))) continue;
      const stored = { accountId, traceId: trace.stored.id, otelTraceId: group.otelTraceId };
      if (group.visit) await deps.storeVisit({ ...stored, visit: group.visit });
      const evaluations = group.spans.flatMap((span) => span.evaluations);
      if (evaluations.length > 0) await addEvaluations({ ...stored, evaluations });
      const isErrorNew = await deps.completeSpans(stored);
      if (isErrorNew || group.spans.some(({ status }) => status === "error")) await deps.clearFailure(stored);
      const name = nameOf(group.spans, request.askBudget, trace.stored.nameOrigin);
      if (!changesStored(trace.stored, group, name)) return;
      const hasFailed = group.failedRoot !== undefined || group.hasFailedLocalRoot;
      const alertId = hasFailed && canAlert(sender.plan, "error") ? deps.uuid() : null;
      const how = { alertId, name, agentId: trace.agentId };
      const isAlertNew = await updateTrace(traceUpdateOf(accountId, trace.stored, group, how));
      if (isAlertNew && alertId !== null) deps.alerts.add({ accountId, alertId });
      return;
    }
    const cause = new Error("a trace was deleted again and again while its spans came");
    throw new AppError("unavailable", { headers: { "Retry-After": "1" }, cause });
  };
}

/** Adds spans to a trace within its capacity; false where the trace does not exist. */
function createGroupAdder(deps: StoreSpansDeps) {
  const addSpans = createOtlpSpanStore(deps);

  async function addPart(request: RequestState, traceId: string, spans: readonly MappedSpan[], refused: Refused) {
    const { accountId, plan, month } = request.sender;
    const hasCapacity = await deps.capacity.take(accountId, traceId, spans.length);
    const toAdd = { accountId, traceId, spans, plan, month: month.firstDay };
    const result = hasCapacity ? await addSpans(toAdd) : ({ outcome: "span_limit" } as const);
    const { outcome } = result;
    if ("usedBytes" in result) request.usedBytes = Math.max(request.usedBytes ?? 0, result.usedBytes);
    if (outcome === "stored") deps.countAccepted("span", spans.length);
    else if (outcome !== "trace_not_found") refused[outcome] += spans.length;
    return outcome;
  }

  return async (
    request: RequestState,
    traceId: string,
    spans: readonly MappedSpan[],
    refused: Refused,
  ): Promise<boolean> => {
    const sizeOf = (span: MappedSpan) => ({ spans: 1, bytes: ownBytes(span) });
    for (const together of inPortions(spans, { ...portion, items: portion.spans }, sizeOf)) {
      const batches = [...inPortions(together, { ...portion, items: maxSpansPerBatch }, () => anySpan)];
      const results = await Promise.all(batches.map((batch) => addPart(request, traceId, batch, refused)));
      if (results.includes("trace_not_found")) return false;
    }
    return true;
  };
}

function changesStored(stored: StoredTrace, group: TraceGroup, name: TraceName | undefined): boolean {
  if (name || retellsAgent(stored, group)) return true;
  if (changesTrace(stored, group.rootOrFirst) || failsTrace(stored, group)) return true;
  return changesLabels(stored.labels, group.labels);
}

interface FoundGroup {
  group: TraceGroup;
  trace: FoundTrace;
}

/** Whether the group may set the agent of its trace. */
function mayClaimAgent({ group, trace }: FoundGroup): boolean {
  if (trace === undefined) return true;
  if (trace === "deleted") return false;
  return (isRoot(group.rootOrFirst) && changesTrace(trace, group.rootOrFirst)) || retellsAgent(trace, group);
}
