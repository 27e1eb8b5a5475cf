import type { Batched, CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type { Plan } from "@waymark/plan";
import type pg from "pg";
import type { AccountAgents } from "../agents/account-agents.query.js";
import { createAgentClaimer } from "../agents/claim-agent.js";
import type { KnownAgents } from "../agents/known-agents.js";
import type { CreateTrace } from "../traces/create-trace.js";
import type { TraceToCreate } from "../traces/trace-row.js";
import { createProvisionalTraces } from "./create-provisional-trace.query.js";
import type { FoundTrace, OtlpTracesToFind, StoredTrace } from "./find-traces.query.js";
import { isNewsTo } from "./root-span.js";
import { isRoot, type TraceGroup } from "./trace-group.js";

export interface EnsureTraceDeps {
  pool: pg.Pool;
  createTrace: CreateTrace;
  createGroupCommit: CreateGroupCommit;
  uuid(): string;
  findTraces: Batched<OtlpTracesToFind, FoundTrace[]>;
  /** Agents that count. */
  knownAgents: KnownAgents;
}

/** Who sends, and what the account may do. */
export interface Sender {
  accountId: string;
  plan: Plan;
  /** The first day of the UTC month that new traces count in, `YYYY-MM-DD`. */
  month: string;
}

/** What one request has learned of its account so far. */
export interface RequestState {
  readonly sender: Sender;
  /** The account's agents, where their number is limited. */
  readonly agents: AccountAgents | undefined;
  /** The month's count where it was read. */
  used: number | undefined;
  /** Whether the month is used up: nothing that is new has to be tried any more. */
  isMonthFull: boolean;
}

/** The trace that spans belong to, or the limit that refuses it, or that it was deleted and its spans are to be dropped. */
export type EnsuredTrace = { stored: StoredTrace } | { refusedBy: "agent_limit" | "trace_limit" } | { isDeleted: true };

/** How often a trace is looked for that another request or instance is just creating. */
const maxAttempts = 5;

/** A function that makes sure that a group's trace exists; `found` is what was found of it, if it was looked for. */
export type EnsureTrace = (
  request: RequestState,
  group: TraceGroup,
  found?: { trace: FoundTrace },
) => Promise<EnsuredTrace>;

/**
 * Makes sure that a group's trace exists, created by this request or another, and counted once. A trace begins as running,
 * with what the group's decisive span says; a root's agent is claimed within the plan's limit.
 */
export function createTraceEnsurer(deps: EnsureTraceDeps): EnsureTrace {
  const { findTraces } = deps;
  const claim = createAgentClaimer(deps);
  const creators = { ...deps, createProvisional: createProvisionalTraces(deps) };
  /** Traces that this process is creating, so that requests with spans of the same trace do not collide in the database. */
  const creating = new Map<string, Promise<unknown>>();

  /** Whether the account may have a root's agent on a trace that exists; an agent that it may have is claimed. */
  async function mayHave({ sender, agents }: RequestState, agentId: string): Promise<boolean> {
    const standing = agents?.standingOf(agentId) ?? "open";
    if (standing !== "open") return standing === "known";
    const isClaimed = await claim({ ...sender, agentId });
    if (isClaimed) agents?.add(agentId);
    else agents?.close();
    return isClaimed;
  }

  return async (request, group, found) => {
    const { accountId } = request.sender;
    const { otelTraceId, decisive } = group;
    const label = `${accountId} ${otelTraceId}`;
    for (let attempt = 1; ; attempt++) {
      const isFound = attempt === 1 && found;
      const trace = isFound ? found.trace : (await findTraces({ accountId, otelTraceIds: [otelTraceId] }))[0];
      if (trace === "deleted") return { isDeleted: true };
      if (trace) {
        const needsAgent = isRoot(decisive) && isNewsTo(trace, decisive);
        const isAllowed = !needsAgent || (await mayHave(request, decisive.agentId));
        return isAllowed ? { stored: trace } : { refusedBy: "agent_limit" };
      }
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
        // Another instance created it meanwhile.
        if (!isTakenTrace(error)) throw error;
        if (attempt >= maxAttempts)
          throw new AppError("unavailable", { headers: { "Retry-After": "1" }, cause: error });
      } finally {
        if (creating.get(label) === own) creating.delete(label);
      }
    }
  };
}

interface Creators extends Pick<EnsureTraceDeps, "uuid" | "createTrace"> {
  createProvisional: ReturnType<typeof createProvisionalTraces>;
}

async function createTrace(
  { uuid, createTrace: create, createProvisional }: Creators,
  request: RequestState,
  { otelTraceId, decisive }: TraceGroup,
): Promise<EnsuredTrace> {
  const { sender, agents } = request;
  const { agentId: ownAgent, name, startedAt } = decisive;
  const standing = isRoot(decisive) ? (agents?.standingOf(ownAgent) ?? "open") : "known";
  if (standing === "refused") return { refusedBy: "agent_limit" };
  if (request.isMonthFull) return { refusedBy: "trace_limit" };
  const agentId = isRoot(decisive) || !agents ? ownAgent : agents.standInFor(ownAgent);
  const input: TraceToCreate = {
    accountId: sender.accountId,
    traceId: uuid(),
    month: sender.month,
    plan: sender.plan,
    trace: { agent_id: agentId ?? ownAgent, name, status: "running", started_at: startedAt },
    idempotency: undefined,
    otlp: { traceId: otelTraceId, claimsAgent: standing === "open" },
  };
  const created = agentId === undefined ? await createProvisional(input) : { result: await create(input), agentId };
  const { result } = created;
  if (result.outcome !== "created" && result.outcome !== "agent_limit" && result.outcome !== "trace_limit") {
    throw new Error(`a trace without an idempotency key came to ${result.outcome}`);
  }
  request.used = Math.max(request.used ?? 0, result.used);
  if (result.outcome === "created") {
    if (standing === "open") agents?.add(ownAgent);
    return { stored: { id: input.traceId, agentId: created.agentId, name, startedAt, rootSpanId: null } };
  }
  if (result.outcome === "trace_limit") request.isMonthFull = true;
  else agents?.close();
  return { refusedBy: result.outcome };
}

function isTakenTrace(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown };
  return code === "23505" && constraint === "trace_otel_trace_id_key";
}
