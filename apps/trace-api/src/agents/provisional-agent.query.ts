import type pg from "pg";

/** Finds an agent of the account, settled ones first. Reads the account's range of `agent_pkey`. */
const findAnyAgentSql = "SELECT id FROM agent WHERE account_id = $1 ORDER BY is_provisional, id LIMIT 1";

/** Stores the provisional agent of an account without agents; the lock on its agents excludes a second one. */
const insertProvisionalSql = "INSERT INTO agent (account_id, id, is_provisional) VALUES ($1, $2, true)";

/** Finds any agent of the account. Run it under `withAgentLock`. */
export async function findAnyAgent(client: pg.PoolClient, accountId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(findAnyAgentSql, [accountId]);
  return rows[0]?.id;
}

/** Stores the provisional agent of an account without agents. Run it under `withAgentLock`. */
export async function insertProvisionalAgent(client: pg.PoolClient, accountId: string, agentId: string): Promise<void> {
  await client.query(insertProvisionalSql, [accountId, agentId]);
}
