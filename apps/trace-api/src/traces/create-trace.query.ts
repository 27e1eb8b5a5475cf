import type { Plan } from "@waymark/plan";
import type pg from "pg";
import type { NewTrace } from "./trace.schema.js";

/** A trace to be stored, and the limits that hold for it. */
export interface TraceToCreate {
  accountId: string;
  traceId: string;
  /** The first day of the UTC month that the trace counts in, `YYYY-MM-DD`. */
  month: string;
  plan: Plan;
  trace: NewTrace;
}

/** What became of it; `used` is the month's count after it. */
export type CreateTraceResult = { outcome: "created" | "agent_limit" | "trace_limit"; used: number };

/**
 * Counts one more trace in the account's month and stores the trace, or does neither when the month is full.
 * The counter's row is locked until commit, and a waiting statement tests the limit on the newest count, so that the
 * limit is exact under any concurrency. One probe each of `trace_usage_pkey` and `trace_pkey`.
 */
const insertTraceSql = `
  WITH quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces) VALUES ($1, $2, 1)
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + 1 WHERE u.traces < $3
    RETURNING traces
  )
  INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, metadata)
  SELECT $1, $4, $5, $6, $7, $8, $9, $10 FROM quota
  RETURNING (SELECT traces FROM quota) AS used`;

/**
 * Whether the account has the agent, and how many it has. Reads the account's range of `agent_pkey`: its length is
 * bounded by the plan where there is a limit, and is not counted where there is none.
 */
const findAgentSql = `
  SELECT EXISTS (SELECT FROM agent WHERE account_id = $1 AND id = $2) AS known,
         CASE WHEN $3::boolean THEN (SELECT count(*)::int FROM agent WHERE account_id = $1) ELSE 0 END AS agents`;

/** Held to the end of the transaction: of an account's first uses of agents, one at a time decides about the limit. */
const lockAgentsSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";

const insertAgentSql = "INSERT INTO agent (account_id, id) VALUES ($1, $2) ON CONFLICT (account_id, id) DO NOTHING";

/** The month's count; one probe of `trace_usage_pkey`. */
const readUsageSql = "SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2";

/** Agents remembered at most; they are never deleted, so what is remembered stays true. */
const maxKnownAgents = 20_000;

/** Creates traces, each with its agent and its place in the month, exactly within the plan's limits. */
export function createTraceStore(pool: pg.Pool) {
  const knownAgents = new Set<string>();

  return async function createTrace(input: TraceToCreate): Promise<CreateTraceResult> {
    const agentKey = `${input.accountId} ${input.trace.agent_id}`;
    if (knownAgents.has(agentKey)) return insertTrace(pool, input);
    const found = await findAgent(pool, input);
    const isOverLimit = input.plan.agents !== null && found.agents >= input.plan.agents;
    if (!found.known && isOverLimit) return { outcome: "agent_limit", used: await readUsage(pool, input) };
    const result = found.known ? await insertTrace(pool, input) : await insertWithAgent(pool, input);
    if (result.outcome === "created") {
      if (knownAgents.size >= maxKnownAgents) knownAgents.clear();
      knownAgents.add(agentKey);
    }
    return result;
  };
}

/** The first trace of a new agent: both are stored or neither, and the agent limit is decided under a lock. */
async function insertWithAgent(pool: pg.Pool, input: TraceToCreate): Promise<CreateTraceResult> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("BEGIN");
    const result = await insertWithAgentLocked(client, input);
    await client.query(result.outcome === "created" ? "COMMIT" : "ROLLBACK");
    return result;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  } finally {
    // A connection whose transaction failed is not given back: its state is not known.
    client.release(failure);
  }
}

async function insertWithAgentLocked(client: pg.PoolClient, input: TraceToCreate): Promise<CreateTraceResult> {
  if (input.plan.agents !== null) {
    await client.query(lockAgentsSql, [input.accountId]);
    const { known, agents } = await findAgent(client, input);
    if (!known && agents >= input.plan.agents) return { outcome: "agent_limit", used: await readUsage(client, input) };
  }
  await client.query(insertAgentSql, [input.accountId, input.trace.agent_id]);
  return insertTrace(client, input);
}

async function insertTrace(db: pg.Pool | pg.PoolClient, input: TraceToCreate): Promise<CreateTraceResult> {
  const { accountId, traceId, month, plan, trace } = input;
  const { rows } = await db.query<{ used: number }>({
    name: "insert-trace",
    text: insertTraceSql,
    values: [
      accountId,
      month,
      plan.tracesPerMonth,
      traceId,
      trace.agent_id,
      trace.name,
      trace.status,
      trace.started_at,
      trace.ended_at ?? null,
      trace.metadata?.text ?? null,
    ],
  });
  const row = rows[0];
  return row ? { outcome: "created", used: row.used } : { outcome: "trace_limit", used: await readUsage(db, input) };
}

async function findAgent(db: pg.Pool | pg.PoolClient, input: TraceToCreate) {
  const values = [input.accountId, input.trace.agent_id, input.plan.agents !== null];
  const { rows } = await db.query<{ known: boolean; agents: number }>({
    name: "find-agent",
    text: findAgentSql,
    values,
  });
  return rows[0] ?? { known: false, agents: 0 };
}

async function readUsage(db: pg.Pool | pg.PoolClient, input: TraceToCreate): Promise<number> {
  const { rows } = await db.query<{ traces: number }>(readUsageSql, [input.accountId, input.month]);
  return rows[0]?.traces ?? 0;
}
