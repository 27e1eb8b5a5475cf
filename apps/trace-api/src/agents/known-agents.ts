/** Agents remembered at most; they are never deleted, so what is remembered stays true. */
const maxKnownAgents = 20_000;

/** Remembers which agents are stored, so that they need not be asked for again. */
export interface KnownAgents {
  has(accountId: string, agentId: string): boolean;
  add(accountId: string, agentId: string): void;
}

/** Makes a memory of agents that knows none; when it is full it forgets all. */
export function createKnownAgents(): KnownAgents {
  const known = new Set<string>();
  const nameOf = (accountId: string, agentId: string) => `${accountId} ${agentId}`;
  return {
    has: (accountId, agentId) => known.has(nameOf(accountId, agentId)),
    add(accountId, agentId) {
      if (known.size >= maxKnownAgents) known.clear();
      known.add(nameOf(accountId, agentId));
    },
  };
}
