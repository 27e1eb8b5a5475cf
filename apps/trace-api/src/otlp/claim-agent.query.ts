import { withTransaction } from "@waymark/database";
import type { Plan } from "@waymark/plan";
import type pg from "pg";
import { createKnownAgents } from "../agents/known-agents.js";
import { findAgent, lockAgentsSql } from "../traces/create-trace.query.js";

/** An agent that a trace which exists already turns out to be of. */
export interface AgentToClaim {
  accountId: string;
  agentId: string;
  plan: Plan;
}

/** Stores an agent unless it is stored already; one probe of `agent_pkey`. */
const insertAgentSql = "INSERT INTO agent (account_id, id) VALUES ($1, $2) ON CONFLICT (account_id, id) DO NOTHING";

/** Claims agents within the plan's limit, exactly, as creating a trace does; false where the limit refuses one. */
export function createAgentClaim({ pool }: { pool: pg.Pool }) {
  const known = createKnownAgents();
  return async (input: AgentToClaim): Promise<boolean> => {
    if (known.has(input.accountId, input.agentId)) return true;
    const maxAgents = input.plan.agents;
    if (maxAgents === null) await pool.query(insertAgentSql, [input.accountId, input.agentId]);
    else if (!(await claimWithin(pool, input, maxAgents))) return false;
    known.add(input.accountId, input.agentId);
    return true;
  };
}

async function claimWithin(pool: pg.Pool, { accountId, agentId }: AgentToClaim, maxAgents: number): Promise<boolean> {
  const before = await findAgent(pool, accountId, agentId);
  if (before.known || before.agents >= maxAgents) return before.known;
  return withTransaction(pool, async (client) => {
    await client.query(lockAgentsSql, [accountId]);
    const { known, agents } = await findAgent(client, accountId, agentId);
    const isAllowed = known || agents < maxAgents;
    if (isAllowed) await client.query(insertAgentSql, [accountId, agentId]);
    return isAllowed;
  });
}
