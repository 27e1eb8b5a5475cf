import { type CreateGroupCommit, withTransaction } from "@waymark/database";
import type { Plan } from "@waymark/plan";
import type pg from "pg";
import type { KnownAgents } from "../agents/known-agents.js";
import { settleAgent } from "../agents/settle-agent.query.js";
import { findAgent, lockAgentsSql } from "../traces/create-trace.query.js";

/** An agent that a trace which exists already turns out to be of. */
export interface AgentToClaim {
  accountId: string;
  agentId: string;
  plan: Plan;
}

/** Stores an agent unless it is stored already; one probe of `agent_pkey`. */
const insertAgentSql = `
  INSERT INTO agent AS a (account_id, id) VALUES ($1, $2)
  ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE a.is_provisional`;

/** Claims agents within the plan's limit, exactly, as creating a trace does; false where the limit refuses one. */
export function createAgentClaim(
  { pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit },
  known: KnownAgents,
) {
  const claimWithin = createGroupCommit<AgentToClaim & { maxAgents: number }, boolean>({
    name: "claim-agent",
    run: (rows) => Promise.all(rows.map((row) => claimAlone(pool, row))),
    maxRows: 1,
    maxInFlight: 2,
    maxInFlightPerOwner: 1,
  });
  return async (input: AgentToClaim): Promise<boolean> => {
    if (known.has(input.accountId, input.agentId)) return true;
    const maxAgents = input.plan.agents;
    if (maxAgents === null) await pool.query(insertAgentSql, [input.accountId, input.agentId]);
    else if (!(await claimWithin({ ...input, maxAgents }))) return false;
    known.add(input.accountId, input.agentId);
    return true;
  };
}

/** Under a lock on the account; of an account one at a time. */
function claimAlone(
  pool: pg.Pool,
  { accountId, agentId, maxAgents }: AgentToClaim & { maxAgents: number },
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    await client.query(lockAgentsSql, [accountId]);
    const { known, agents } = await findAgent(client, accountId, agentId);
    if (known || agents >= maxAgents) return known;
    await settleAgent(client, accountId, agentId);
    return true;
  });
}
