import { LRUCache } from "lru-cache";
import type pg from "pg";

/** Nothing deletes a single agent, so a remembered one stays true. At some 150 bytes each. */
const maxKnownAgents = 20_000;

export interface KnownAgents {
  has(accountId: string, agentId: string): boolean;
  add(accountId: string, agentId: string): void;
}

export function createKnownAgents(): KnownAgents {
  const known = new LRUCache<string, true>({ max: maxKnownAgents });
  const nameOf = (accountId: string, agentId: string) => `${accountId} ${agentId}`;
  return {
    has: (accountId, agentId) => known.get(nameOf(accountId, agentId)) === true,
    add(accountId, agentId) {
      known.set(nameOf(accountId, agentId), true);
    },
  };
}

/**
 * Reads which of the given agents an account has, its first agent, and the number of its agents up to $3. Provisional
 * agents do not count. Probes of `agent_pkey` and the start of the account's range.
 */
const readAgentsSql = `
  SELECT ARRAY(SELECT id FROM agent WHERE account_id = $1 AND id = ANY ($2::text[]) AND NOT is_provisional) AS known,
    (SELECT id FROM agent WHERE account_id = $1 AND NOT is_provisional ORDER BY id LIMIT 1) AS first,
    (SELECT count(*)::int FROM (SELECT FROM agent WHERE account_id = $1 AND NOT is_provisional LIMIT $3) a) AS agents`;

/** The account has the agent, may not have it, or may claim it. */
type Standing = "known" | "refused" | "open";

/** As one request knows them: one query reads all that it names. Agents that count are never deleted. */
export class AccountAgents {
  private readonly known = new Set<string>();
  private isFull = false;
  private first: string | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly account: { accountId: string; maxAgents: number },
    private readonly knownAgents: KnownAgents,
  ) {}

  async read(names: ReadonlySet<string>): Promise<void> {
    const { accountId, maxAgents } = this.account;
    const unknown = [...names].filter((name) => this.standingOf(name) !== "known");
    if (unknown.length === 0) return;
    const { rows } = await this.pool.query<{ known: string[]; first: string | null; agents: number }>({
      name: "read-agents",
      text: readAgentsSql,
      values: [accountId, unknown, maxAgents],
    });
    const { known = [], first = null, agents = 0 } = rows[0] ?? {};
    for (const name of known) this.add(name);
    this.first ??= first ?? undefined;
    this.isFull ||= agents >= maxAgents;
  }

  standingOf(name: string): Standing {
    if (this.known.has(name) || this.knownAgents.has(this.account.accountId, name)) return "known";
    return this.isFull ? "refused" : "open";
  }

  /** The agent of a trace without a root span: its own if the account has it, else another of the account. */
  standInFor(name: string): string | undefined {
    return this.standingOf(name) === "known" ? name : this.first;
  }

  add(name: string): void {
    this.known.add(name);
    this.knownAgents.add(this.account.accountId, name);
    this.first ??= name;
    this.isFull ||= this.known.size >= this.account.maxAgents;
  }

  close(): void {
    this.isFull = true;
  }
}
