import type { Batched } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { type Batching, type NewTrace, oneByOne } from "@waymark/traces";
import { type AskBudget, type MappedSpan, nameOf } from "@waymark/traces/otlp";
import type pg from "pg";
import { createAgentClaimer, withAgentLock } from "../agents/claim-agent.query.js";
import type { AccountAgents, KnownAgents } from "../agents/known-agents.js";
import { type CreateTrace, insertOrRefuse } from "../traces/create-trace.js";
import { bytesOfTrace, type CreateTraceResult, type TraceToCreate } from "../traces/insert-traces.query.js";
import type { Sender } from "../usage/trace-quota.js";
import type { FoundTrace, OtlpTracesToFind, StoredTrace } from "./find-traces.query.js";
import { agentsOf, changesTrace, isRoot, retellsAgent, type TraceGroup } from "./trace-group.js";

export interface FindOrCreateTraceDeps extends Batching {
  createTrace: CreateTrace;
  uuid(): string;
  findTraces: Batched<OtlpTracesToFind, FoundTrace[]>;
  /** Agents that count. */
  knownAgents: KnownAgents;
}

/** One request's knowledge of its account. */
export interface RequestState {
  readonly sender: Sender;
  /** Of an account with a limit of agents. */
  readonly agents: AccountAgents | undefined;
  /** The month's traces, if the request has read their number. */
  used: number | undefined;
  /** The month's bytes, as far as the request has met them. */
  usedBytes: number | undefined;
  /** Whether the month's traces are used up, so the request need not try to create more. */
  isMonthFull: boolean;
  readonly askBudget: AskBudget;
}

/**
 * The trace of a group, the limit that refused it, or its deletion: spans of a deleted trace are dropped. Of an account with a
 * limit of agents, `agentId` is the one that counts, null where the trace keeps its own.
 */
type TraceOutcome =
  | { stored: StoredTrace; agentId: string | null | undefined }
  | { refusedBy: "agent_limit" | "trace_limit" | "byte_limit" }
  | { isDeleted: true };

/** Attempts to find a trace while another request or instance is creating it. */
const maxAttempts = 5;

/** @param found the result of an earlier look-up, if there was one */
type FindOrCreateTrace = (
  request: RequestState,
  group: TraceGroup,
  found?: { trace: FoundTrace },
) => Promise<TraceOutcome>;

/**
 * Finds or creates a group's trace, and counts a new one once. A new trace is `running`, with name, start and agent of the
 * group's root or first span. The agent of a trace with a root span is claimed within the plan's limit.
 */
export function createFindOrCreateTrace(deps: FindOrCreateTraceDeps): FindOrCreateTrace {
  const { findTraces } = deps;
  const claim = createAgentClaimer(deps);
  const creators = { ...deps, createProvisional: oneByOne(deps, "create-unsettled-trace", createProvisionalTrace) };
  /** Traces in creation by this process, so its requests do not create the same trace twice. */
  const creating = new Map<string, Promise<unknown>>();

  /** Claims the first agent that the plan allows. */
  async function claimOne(sender: Sender, agents: AccountAgents, agentIds: readonly string[]): Promise<string | null> {
    for (const agentId of agentIds) {
      const standing = agents.standingOf(agentId);
      if (standing === "known") return agentId;
      if (standing === "refused") continue;
      const isClaimed = await claim({ ...sender, agentId });
      if (isClaimed) agents.add(agentId);
      else agents.close();
      if (isClaimed) return agentId;
    }
    return null;
  }

  /** Of an account without a limit, the update of the trace stores its agent. */
  async function claimOfStored({ sender, agents }: RequestState, group: TraceGroup, stored: StoredTrace) {
    if (!agents) return { stored, agentId: undefined };
    const [first = "", ...others] = agentsOf(group, stored);
    const settles = isRoot(group.rootOrFirst) && changesTrace(stored, group.rootOrFirst);
    const isSettled = stored.rootSpanId !== null && !stored.isRootLocal;
    if (!settles && !(isSettled && retellsAgent(stored, group))) return { stored, agentId: null };
    const agentId = await claimOne(sender, agents, settles ? [first, ...others] : [first]);
    return settles && agentId === null ? { refusedBy: "agent_limit" as const } : { stored, agentId };
  }

  return async (request, group, found) => {
    const { accountId } = request.sender;
    const { otelTraceId } = group;
    const label = `${accountId} ${otelTraceId}`;
    for (let attempt = 1; ; attempt++) {
      const isFound = attempt === 1 && found;
      const trace = isFound ? found.trace : (await findTraces({ accountId, otelTraceIds: [otelTraceId] }))[0];
      if (trace === "deleted") return { isDeleted: true };
      if (trace) return claimOfStored(request, group, trace);
      const other = creating.get(label);
      if (other) {
        await other.catch(() => undefined);
        if (attempt < maxAttempts) continue;
      }
      const own = createTrace(creators, request, group);
      creating.set(label, own);
      try {
        return await own;
      } catch (error) {
        // Another instance created the trace meanwhile.
        if (!isTakenTrace(error)) throw error;
        if (attempt >= maxAttempts)
          throw new AppError("unavailable", { headers: { "Retry-After": "1" }, cause: error });
      } finally {
        if (creating.get(label) === own) creating.delete(label);
      }
    }
  };
}

/** Whether a span's agent counts. With a limit of agents a local root leaves it to a root span, which may name another. */
function claimsAgent(span: MappedSpan, agents: AccountAgents | undefined): boolean {
  return isRoot(span) || (span.isLocalRoot && agents === undefined);
}

interface Creators extends Pick<FindOrCreateTraceDeps, "uuid" | "createTrace"> {
  createProvisional: Batched<TraceToCreate, ProvisionalTrace>;
}

async function createTrace(
  { uuid, createTrace: create, createProvisional }: Creators,
  request: RequestState,
  group: TraceGroup,
): Promise<TraceOutcome> {
  const { otelTraceId, rootOrFirst, labels, toldAgent, spans } = group;
  const { sender, agents } = request;
  const { startedAt } = rootOrFirst;
  const candidates = agentsOf(group);
  const claims = claimsAgent(rootOrFirst, agents);
  const ownAgent = candidates.find((each) => !claims || agents?.standingOf(each) !== "refused");
  const standing = claims && ownAgent !== undefined ? (agents?.standingOf(ownAgent) ?? "open") : "known";
  if (ownAgent === undefined) return { refusedBy: "agent_limit" };
  if (request.isMonthFull) return { refusedBy: "trace_limit" };
  const agentId = isRoot(rootOrFirst) || !agents ? ownAgent : agents.standInFor(ownAgent);
  const name = nameOf(spans, request.askBudget) ?? { origin: "", text: rootOrFirst.name };
  const trace: NewTrace = {
    agent_id: agentId ?? ownAgent,
    name: name.text,
    status: "running",
    started_at: startedAt,
    ...labels?.values,
  };
  const input: TraceToCreate = {
    accountId: sender.accountId,
    traceId: uuid(),
    month: sender.month.firstDay,
    plan: sender.plan,
    bytes: bytesOfTrace(trace),
    trace,
    idempotency: undefined,
    otlp: {
      traceId: otelTraceId,
      claimsAgent: standing === "open",
      nameOrigin: name.origin,
      toldAgent,
      labelOrigins: labels?.origins ?? 0,
    },
  };
  const created = agentId === undefined ? await createProvisional(input) : { result: await create(input), agentId };
  const { result } = created;
  if (!("used" in result) || result.outcome === "replayed") {
    throw new Error(`a trace without an idempotency key came to ${result.outcome}`);
  }
  request.used = Math.max(request.used ?? 0, result.used);
  if ("usedBytes" in result) request.usedBytes = Math.max(request.usedBytes ?? 0, result.usedBytes);
  if (result.outcome === "created") {
    if (standing === "open") agents?.add(ownAgent);
    const noRoot = { rootSpanId: null, isRootLocal: false, hasFailedRoot: false, hasFailedLocalRoot: false };
    const isOfSpan = { ...noRoot, nameOrigin: name.origin, toldAgent, labels: labels ?? { values: {}, origins: 0 } };
    const stored = { id: input.traceId, agentId: created.agentId, startedAt, ...isOfSpan };
    return { stored, agentId: agents ? (claims ? ownAgent : null) : undefined };
  }
  if (result.outcome === "trace_limit") request.isMonthFull = true;
  else if (result.outcome === "agent_limit") {
    agents?.close();
    if (ownAgent !== candidates.at(-1))
      return createTrace({ uuid, createTrace: create, createProvisional }, request, group);
  }
  return { refusedBy: result.outcome };
}

function isTakenTrace(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown };
  return code === "23505" && constraint === "trace_otel_trace_id_key";
}

/** Finds an agent of the account, settled ones first. Reads the account's range of `agent_pkey`. */
const findAnyAgentSql = "SELECT id FROM agent WHERE account_id = $1 ORDER BY is_provisional, id LIMIT 1";

/** Stores the provisional agent of an account without agents; the lock on its agents excludes a second one. */
const insertProvisionalSql = "INSERT INTO agent (account_id, id, is_provisional) VALUES ($1, $2, true)";

interface ProvisionalTrace {
  result: CreateTraceResult;
  agentId: string;
}

/**
 * Creates a trace whose root span has not arrived, for an account with a limit of agents and no agent that counts. The trace's
 * agent becomes the account's provisional agent unless the account has one.
 */
function createProvisionalTrace(pool: pg.Pool, input: TraceToCreate): Promise<ProvisionalTrace> {
  const { accountId, trace } = input;
  return withAgentLock(pool, accountId, async (client) => {
    const existing = (await client.query<{ id: string }>(findAnyAgentSql, [accountId])).rows[0]?.id;
    const agentId = existing ?? trace.agent_id;
    const result = await insertOrRefuse(client, {
      ...input,
      trace: { ...trace, agent_id: agentId },
      isAgentKnown: true,
    });
    if (result.outcome === "created" && existing === undefined) {
      await client.query(insertProvisionalSql, [accountId, agentId]);
    }
    return { result, agentId };
  });
}
