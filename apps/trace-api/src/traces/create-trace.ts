import { type Batching, oneByOne, readUsedTraces } from "@waymark/traces";
import type pg from "pg";
import { type AgentClaim, claimAgent, findAgent, settleAgent } from "../agents/claim-agent.query.js";
import type { KnownAgents } from "../agents/known-agents.js";
import type { TraceCapacity } from "../spans/trace-capacity.js";
import {
  type CreateTraceResult,
  insertLockedTraces,
  insertTraces,
  labelKindOf,
  type TraceRow,
  type TraceToCreate,
} from "./insert-traces.query.js";

/** Creates a trace and its agent, exactly within the plan's limits. */
export type CreateTrace = (input: TraceToCreate) => Promise<CreateTraceResult>;

interface CreateTraceDeps extends Batching {
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
    kindOf: (row) => `${row.month} ${row.plan.tracesPerMonth} ${row.idempotency !== undefined} ${labelKindOf(row)}`,
  });
  const insertAlone = oneByOne(deps, "create-trace-alone", insertOrRefuse, { bytesOf });
  const createWithNewAgent = oneByOne(deps, "create-trace-of-new-agent", createAndClaim, { bytesOf });

  /** If the month takes some but not all traces of a batch, each of them is decided alone. */
  async function insert(row: TraceRow): Promise<CreateTraceResult> {
    return (await insertBatched(row)) ?? insertAlone(row);
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
      const result = await insertOrRefuse(client, { ...input, isAgentKnown: isKnown });
      if (result.outcome === "created" && hasProvisional) await settleAgent(client, accountId, trace.agent_id);
      return result;
    },
    (client) => refuseAgent(client, input),
  );
}

/** Stores a trace alone; without a result its month is full. */
export async function insertOrRefuse(db: pg.Pool | pg.PoolClient, row: TraceRow): Promise<CreateTraceResult> {
  const [result] = await insertLockedTraces(db, [row]);
  return result ?? { outcome: "trace_limit", used: await readUsedTraces(db, row) };
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
