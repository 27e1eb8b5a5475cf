import type pg from "pg";
import type { KnownAgents } from "../agents/known-agents.js";

/**
 * Which of the given agents an account has, the first of all, and how many, $3 at most; without a provisional one. Probes of
 * `agent_pkey` and the beginning of the account's range.
 */
const readAgentsSql = `
  SELECT ARRAY(SELECT id FROM agent WHERE account_id = $1 AND id = ANY ($2::text[]) AND NOT is_provisional) AS known,
    (SELECT id FROM agent WHERE account_id = $1 AND NOT is_provisional ORDER BY id LIMIT 1) AS first,
    (SELECT count(*)::int FROM (SELECT FROM agent WHERE account_id = $1 AND NOT is_provisional LIMIT $3) a) AS agents`;

/** How an agent stands with an account: it has it, has no room for it, or may claim it. */
export type Standing = "known" | "refused" | "open";

/**
 * What a request knows of the agents of an account whose number of agents is limited, so that it asks for all that it
 * names at once. Agents that count are never deleted: what is known stays true.
 */
export class AgentBook {
  private readonly known = new Set<string>();
  private isFull = false;
  private first: string | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly account: { accountId: string; maxAgents: number },
    private readonly remembered: KnownAgents,
  ) {}

  /** Asks for those that are not known yet. */
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
    if (this.known.has(name) || this.remembered.has(this.account.accountId, name)) return "known";
    return this.isFull ? "refused" : "open";
  }

  /** The agent that a trace counts for until its root comes: its own if the account has that, else another of the account. */
  standInFor(name: string): string | undefined {
    return this.standingOf(name) === "known" ? name : this.first;
  }

  /** Notes that an agent is the account's. */
  add(name: string): void {
    this.known.add(name);
    this.remembered.add(this.account.accountId, name);
    this.first ??= name;
    this.isFull ||= this.known.size >= this.account.maxAgents;
  }

  /** Notes that the account has no room for another agent. */
  close(): void {
    this.isFull = true;
  }
}
