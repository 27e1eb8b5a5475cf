import { AppError } from "@waymark/errors";
import type { Plan } from "@waymark/plan";
import type pg from "pg";
import type { Gather } from "../gather.js";
import type { CreateTraceResult, TraceToCreate } from "../traces/trace-row.js";
import { createAgentClaim } from "./claim-agent.query.js";
import { isNewsTo } from "./decision.js";
import { createTraceFinder, type StoredTrace } from "./find-traces.query.js";
import { isRoot, type TraceGroup } from "./trace-group.js";

export interface EnsureTraceDeps {
  pool: pg.Pool;
  gather: Gather;
  createTrace(trace: TraceToCreate): Promise<CreateTraceResult>;
  uuid(): string;
}

/** Who sends, and what the account may do. */
export interface Sender {
  accountId: string;
  plan: Plan;
  /** The first day of the UTC month that new traces count in, `YYYY-MM-DD`. */
  month: string;
}

/** The trace that spans belong to, or the limit that refuses it; `used` is the month's count where it was read. */
export type EnsuredTrace = { used: number | undefined } & (
  | { stored: StoredTrace }
  | { refusedBy: "agent_limit" | "trace_limit" }
);

/** How often a trace is looked for that another request or instance is just creating. */
const maxAttempts = 5;

/**
 * Makes sure that a group's trace exists, created by this request or another, and counted once. A trace begins as running,
 * with what the group's decisive span says; a root's agent is claimed within the plan's limit.
 */
export function createTraceEnsurer({ pool, gather, createTrace, uuid }: EnsureTraceDeps) {
  const findTrace = createTraceFinder({ pool, gather });
  const claimAgent = createAgentClaim({ pool });
  /** Traces that this process is creating, so that requests with spans of the same trace do not collide in the database. */
  const creating = new Map<string, Promise<unknown>>();

  async function create(
    { accountId, plan, month }: Sender,
    { otelTraceId, decisive }: TraceGroup,
  ): Promise<EnsuredTrace> {
    const id = uuid();
    const { agentId, name, startedAt } = decisive;
    const result = await createTrace({
      accountId,
      traceId: id,
      month,
      plan,
      trace: { agent_id: agentId, name, status: "running", started_at: startedAt },
      idempotency: undefined,
      otlp: { traceId: otelTraceId, isAgentSettled: isRoot(decisive) },
    });
    if (result.outcome === "agent_limit" || result.outcome === "trace_limit") {
      return { refusedBy: result.outcome, used: result.used };
    }
    if (result.outcome !== "created") throw new Error(`a trace without an idempotency key came to ${result.outcome}`);
    return { used: result.used, stored: { id, agentId, name, startedAt, rootSpanId: null } };
  }

  async function allow({ accountId, plan }: Sender, group: TraceGroup, stored: StoredTrace): Promise<EnsuredTrace> {
    const { decisive } = group;
    const needsAgent = isRoot(decisive) && isNewsTo(stored, decisive);
    const isAllowed = !needsAgent || (await claimAgent({ accountId, agentId: decisive.agentId, plan }));
    return { used: undefined, ...(isAllowed ? { stored } : { refusedBy: "agent_limit" }) };
  }

  return async (sender: Sender, group: TraceGroup): Promise<EnsuredTrace> => {
    const key = { accountId: sender.accountId, otelTraceId: group.otelTraceId };
    const label = `${key.accountId} ${key.otelTraceId}`;
    for (let attempt = 1; ; attempt++) {
      const stored = await findTrace(key);
      if (stored) return allow(sender, group, stored);
      const other = creating.get(label);
      if (other) {
        await other.catch(() => undefined);
        if (attempt < maxAttempts) continue;
      }
      const own = create(sender, group);
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

function isTakenTrace(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown };
  return code === "23505" && constraint === "trace_otel_trace_id_key";
}
