import type pg from "pg";

/** Agents to choose from, at most. */
const maxAgentNames = 1_000;

/** The first agents of an account by id: a range of `agent_pkey` without the table. */
const listAgentNamesSql = "SELECT id FROM agent WHERE account_id = $1 ORDER BY id LIMIT $2";

export async function listAgentNames(pool: pg.Pool, accountId: string): Promise<string[]> {
  const statement = { name: "list-agent-names", text: listAgentNamesSql, values: [accountId, maxAgentNames] };
  const { rows } = await pool.query<{ id: string }>(statement);
  return rows.map(({ id }) => id);
}
