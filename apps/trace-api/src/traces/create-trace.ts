import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";
import { type AgentClaim, claimAgent, findAgent, settleAgent } from "../agents/claim-agent.query.js";
import type { KnownAgents } from "../agents/known-agents.js";
import { oneAtATime } from "../batching/one-at-a-time.js";
import type { TraceCapacity } from "../spans/trace-capacity.js";
import { readUsedTraces } from "../usage/read-used-traces.query.js";
import { insertLockedTraces, insertTraces } from "./insert-traces.query.js";
import type { CreateTraceResult, TraceRow, TraceToCreate } from "./trace-row.js";

/** Creates a trace and its agent, exactly within the plan's limits. */
export type CreateTrace = (input: TraceToCreate) => Promise<CreateTraceResult>;

interface CreateTraceDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  capacity: TraceCapacity;
  knownAgents: KnownAgents;
  countAccepted(kind: "trace", count: number): void;
}

interface NewAgentTrace extends TraceToCreate {
  maxAgents: number;
}

const bytesOf = ({ bytes }: TraceToCreate) => bytes;

/** Makes the one way in for new traces, from JSON and from OpenTelemetry. */
export function createTraceCreator(deps: CreateTraceDeps): CreateTrace {
  const { pool, createGroupCommit, capacity, knownAgents } = deps;
  const insertBatched = createGroupCommit<TraceRow, CreateTraceResult | undefined>({
    name: "create-trace",
    run: (rows) => insertTraces(pool, rows, "skip"),
    runLocked: (rows) => insertLockedTraces(pool, rows),
    bytesOf,
    kindOf: ({ month, plan, idempotency }) => `${month} ${plan.tracesPerMonth} ${idempotency !== undefined}`,
  });
  const insertAlone = createGroupCommit<TraceRow, CreateTraceResult | undefined>({
    name: "create-trace-alone",
    run: (rows) => insertLockedTraces(pool, rows),
    bytesOf,
    ...oneAtATime,
  });
  const createWithNewAgent = createGroupCommit<NewAgentTrace, CreateTraceResult>({
    name: "create-trace-of-new-agent",
    run: (rows) => Promise.all(rows.map((row) => createAndClaim(pool, row))),
    bytesOf,
    ...oneAtATime,
  });

  /** If the month takes some but not all traces of a batch, each of them is decided alone. */
  async function insert(row: TraceRow): Promise<CreateTraceResult> {
    const result = (await insertBatched(row)) ?? (await insertAlone(row));
    return result ?? { outcome: "trace_limit", used: await readUsedTraces(pool, row) };
  }

  async function insertWithinAgentLimit(input: TraceToCreate, maxAgents: number): Promise<CreateTraceResult> {
    const { isKnown, agents } = await findAgent(pool, { accountId: input.accountId, agentId: input.trace.agent_id });
    if (isKnown) return insert({ ...input, isAgentKnown: true });
    if (agents >= maxAgents) return refuseAgent(pool, input);
    return createWithNewAgent({ ...input, maxAgents });
  }

  async function createWithinLimits(input: TraceToCreate): Promise<CreateTraceResult> {
    if (input.otlp?.claimsAgent === false) return insert({ ...input, isAgentKnown: true });
    const isAgentKnown = knownAgents.has(input.accountId, input.trace.agent_id);
    const maxAgents = input.plan.agents;
    const result =
      isAgentKnown || maxAgents === null
        ? await insert({ ...input, isAgentKnown })
        : await insertWithinAgentLimit(input, maxAgents);
    if (!isAgentKnown && result.outcome === "created") knownAgents.add(input.accountId, input.trace.agent_id);
    return result;
  }

  return async (input) => {
    const result = await createWithinLimits(input);
    if (result.outcome === "created") {
      capacity.created(input.accountId, result.traceId);
      deps.countAccepted("trace", 1);
    }
    return result;
  };
}

/** Stores the first trace of a new agent and the agent, or neither. */
function createAndClaim(pool: pg.Pool, { maxAgents, ...input }: NewAgentTrace): Promise<CreateTraceResult> {
  const { accountId, trace } = input;
  const claim: AgentClaim = { accountId, agentId: trace.agent_id, maxAgents };
  return claimAgent(
    pool,
    claim,
    async (client, { isKnown, hasProvisional }) => {
      const [result] = await insertLockedTraces(client, [{ ...input, isAgentKnown: isKnown }]);
      if (result?.outcome === "created" && hasProvisional) await settleAgent(client, accountId, trace.agent_id);
      return result ?? { outcome: "trace_limit", used: await readUsedTraces(client, input) };
    },
    (client) => refuseAgent(client, input),
  );
}

/** Finds out whether a request was stored with the key. One probe of `idempotency_key_pkey`. */
const findKeySql = "SELECT FROM idempotency_key WHERE account_id = $1 AND key = $2";

/** Refuses a new agent, or first the key of another request. */
async function refuseAgent(db: pg.Pool | pg.PoolClient, input: TraceToCreate): Promise<CreateTraceResult> {
  if (input.idempotency) {
    const { rowCount } = await db.query(findKeySql, [input.accountId, input.idempotency.key]);
    if (rowCount) return { outcome: "key_reused" };
  }
  return { outcome: "agent_limit", used: await readUsedTraces(db, input) };
}
