import type pg from "pg";

/**
 * Makes an agent one that counts for good, in place of the provisional one if the account has such: only traces whose root
 * has not come name that, and they are the new agent's from then on. To be run under the lock of `lockAgentsSql`, and once
 * in the life of an account with a limit. A probe of `agent_pkey`, its range of the account, and the account's of `trace_pkey`.
 */
const settleAgentSql = `
  WITH settled AS (
    INSERT INTO agent (account_id, id) VALUES ($1, $2)
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false
  ), replaced AS (
    DELETE FROM agent WHERE account_id = $1 AND is_provisional AND id <> $2 RETURNING id
  )
  UPDATE trace t SET agent_id = $2 FROM replaced WHERE t.account_id = $1 AND t.agent_id = replaced.id`;

/** Stores an agent that counts, and lets the account's provisional one give way to it. */
export async function settleAgent(client: pg.PoolClient, accountId: string, agentId: string): Promise<void> {
  await client.query(settleAgentSql, [accountId, agentId]);
}
