import type { CreateGroupCommit } from "@waymark/database";
import type { Plan } from "@waymark/plan";
import type pg from "pg";
import { oneAtATime } from "../batching/one-at-a-time.js";
import { type AgentClaim, claimAgent, insertAgent, settleAgent } from "./claim-agent.query.js";
import type { KnownAgents } from "./known-agents.js";

interface AgentToClaim {
  accountId: string;
  agentId: string;
  plan: Plan;
}

interface AgentClaimerDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  knownAgents: KnownAgents;
}

/**
 * Makes a function that claims the agent of an existing trace. It resolves with false at the plan's limit of agents.
 */
export function createAgentClaimer({ pool, createGroupCommit, knownAgents }: AgentClaimerDeps) {
  const claimWithin = createGroupCommit<AgentClaim, boolean>({
    name: "claim-agent",
    run: (claims) => Promise.all(claims.map((claim) => claimAlone(pool, claim))),
    ...oneAtATime,
  });
  return async ({ accountId, agentId, plan }: AgentToClaim): Promise<boolean> => {
    if (knownAgents.has(accountId, agentId)) return true;
    if (plan.agents === null) await insertAgent(pool, accountId, agentId);
    else if (!(await claimWithin({ accountId, agentId, maxAgents: plan.agents }))) return false;
    knownAgents.add(accountId, agentId);
    return true;
  };
}

function claimAlone(pool: pg.Pool, claim: AgentClaim): Promise<boolean> {
  return claimAgent(
    pool,
    claim,
    async (client, { isKnown }) => {
      if (!isKnown) await settleAgent(client, claim.accountId, claim.agentId);
      return true;
    },
    async () => false,
  );
}
