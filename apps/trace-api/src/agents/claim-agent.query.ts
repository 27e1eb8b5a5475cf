import { withTransaction } from "@waymark/database";
import type { Plan } from "@waymark/plan";
import { type Batching, oneByOne } from "@waymark/traces";
import type pg from "pg";
import { noteChangeSql } from "../model-calls/model-call.js";
import type { KnownAgents } from "./known-agents.js";

/** Serializes the claims of one account until commit, so its agent limit is exact. One probe of `account_pkey`. */
const lockAgentsSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";

/**
 * Reads whether the account has the agent, its number of agents, and whether it has a provisional one, not counted in
 * either. Reads the account's range of `agent_pkey`, bounded by the plan: only accounts with a limit need this.
 */
const findAgentSql = `
  SELECT COALESCE(bool_or(id = $2 AND NOT is_provisional), false) AS "isKnown",
    count(*) FILTER (WHERE NOT is_provisional)::int AS agents,
    COALESCE(bool_or(is_provisional), false) AS "hasProvisional"
  FROM agent WHERE account_id = $1`;

/** Stores an agent or settles a provisional one of that name. One probe of `agent_pkey`. */
const insertAgentSql = `
  INSERT INTO agent AS a (account_id, id) VALUES ($1, $2)
  ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE a.is_provisional`;

/**
 * Stores an agent and replaces the account's provisional agent by it. The traces of a provisional agent have no root span
 * yet; they become the new agent's. Runs under the lock of `lockAgentsSql`, and once in the life of an account with a
 * limit. A probe of `agent_pkey`, its range of the account, and the account's range of `trace_pkey`.
 */
const settleAgentSql = `
  WITH settled AS (
    INSERT INTO agent (account_id, id) VALUES ($1, $2)
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false
  ), replaced AS (
    DELETE FROM agent WHERE account_id = $1 AND is_provisional AND id <> $2 RETURNING id
  ), moved AS (
    UPDATE trace t SET agent_id = $2 FROM replaced WHERE t.account_id = $1 AND t.agent_id = replaced.id
    RETURNING t.account_id, t.id
  )${noteChangeSql("moved", "id")}`;

export interface AgentClaim {
  accountId: string;
  agentId: string;
  maxAgents: number;
}

interface FoundAgent {
  isKnown: boolean;
  agents: number;
  hasProvisional: boolean;
}

export async function findAgent(
  db: pg.Pool | pg.PoolClient,
  { accountId, agentId }: Omit<AgentClaim, "maxAgents">,
): Promise<FoundAgent> {
  const { rows } = await db.query<FoundAgent>({ name: "find-agent", text: findAgentSql, values: [accountId, agentId] });
  return rows[0] ?? { isKnown: false, agents: 0, hasProvisional: false };
}

/** Runs work in a transaction; no claim of the account's agents can overlap it. */
export function withAgentLock<Result>(
  pool: pg.Pool,
  accountId: string,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  return withTransaction(pool, async (client) => {
    await client.query(lockAgentsSql, [accountId]);
    return work(client);
  });
}

/**
 * Decides in one transaction whether the plan allows the agent, and uses it. The limit is exact: one claim of an account
 * runs at a time.
 * @param use stores the data of the agent and, unless it `isKnown`, the agent; by {@link settleAgent} if the account
 * `hasProvisional` agents
 * @param refuse makes the result at the limit
 */
export function claimAgent<Result>(
  pool: pg.Pool,
  claim: AgentClaim,
  use: (client: pg.PoolClient, found: FoundAgent) => Promise<Result>,
  refuse: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  return withAgentLock(pool, claim.accountId, async (client) => {
    const found = await findAgent(client, claim);
    return !found.isKnown && found.agents >= claim.maxAgents ? refuse(client) : use(client, found);
  });
}

export async function settleAgent(client: pg.PoolClient, accountId: string, agentId: string): Promise<void> {
  await client.query(settleAgentSql, [accountId, agentId]);
}

/** Makes a function that claims the agent of an existing trace. It resolves with false at the plan's limit of agents. */
export function createAgentClaimer(deps: Batching & { knownAgents: KnownAgents }) {
  const { pool, knownAgents } = deps;
  const claimWithin = oneByOne(deps, "claim-agent", claimAlone);
  return async ({ accountId, agentId, plan }: { accountId: string; agentId: string; plan: Plan }): Promise<boolean> => {
    if (knownAgents.has(accountId, agentId)) return true;
    if (plan.agents === null) await pool.query(insertAgentSql, [accountId, agentId]);
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
