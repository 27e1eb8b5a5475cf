import { LRUCache } from "lru-cache";

/** Nothing deletes a single agent, so a remembered one stays true. At some 150 bytes each. */
const maxKnownAgents = 20_000;

/** Remembers which agents are stored, so requests need not ask for them again. */
export interface KnownAgents {
  has(accountId: string, agentId: string): boolean;
  add(accountId: string, agentId: string): void;
}

/** Makes an empty cache of the agents used last. */
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
