import { type CreateGroupCommit, withTransaction } from "@waymark/database";
import type pg from "pg";
import { insertTraces, lockAgentsSql, readUsage, unlessLocked } from "../traces/create-trace.query.js";
import type { CreateTraceResult, TraceToCreate } from "../traces/trace-row.js";

/** An agent of the account, rather one that counts than the provisional one; the account's range of `agent_pkey`. */
const findAnyAgentSql = "SELECT id FROM agent WHERE account_id = $1 ORDER BY is_provisional, id LIMIT 1";

/** Stores the provisional agent of an account that has no agent, which the lock on the account makes sure of. */
const insertProvisionalSql = "INSERT INTO agent (account_id, id, is_provisional) VALUES ($1, $2, true)";

/** The trace's outcome, and the agent that it counts for. */
export interface UnsettledTrace {
  result: CreateTraceResult;
  agentId: string;
}

/**
 * Creates a trace whose root has not come, for an account with a limited number of agents and none that counts. Its agent
 * becomes the account's provisional one, unless there is one already. Under the lock that claims take, so that none is
 * settled meanwhile; of an account one at a time.
 */
export function createUnsettledStore({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<TraceToCreate, UnsettledTrace>({
    name: "create-unsettled-trace",
    run: (rows) => Promise.all(rows.map((row) => createUnsettled(pool, row))),
    maxRows: 1,
    maxInFlight: 2,
    maxInFlightPerOwner: 1,
  });
}

function createUnsettled(pool: pg.Pool, input: TraceToCreate): Promise<UnsettledTrace> {
  const { accountId, trace } = input;
  return withTransaction(pool, async (client) => {
    await client.query(lockAgentsSql, [accountId]);
    const { rows } = await client.query<{ id: string }>(findAnyAgentSql, [accountId]);
    const agentId = rows[0]?.id ?? trace.agent_id;
    const row = { ...input, trace: { ...trace, agent_id: agentId }, isAgentKnown: true };
    const [inserted] = (await insertTraces(client, [row], "")).map(unlessLocked);
    const result = inserted ?? { outcome: "trace_limit", used: await readUsage(client, input) };
    if (result.outcome === "created" && rows.length === 0)
      await client.query(insertProvisionalSql, [accountId, agentId]);
    return { result, agentId };
  });
}
