import { isbot } from "isbot";
import { LRUCache } from "lru-cache";

/** Visitors share a few thousand user agents, and a check takes long. */
const maxCachedAgents = 10_000;

/** Makes the function that recognizes a bot by its `User-Agent`; a visitor without one is no bot. */
export function createBotCheck(): (userAgent: string | null) => boolean {
  const verdicts = new LRUCache<string, boolean>({ max: maxCachedAgents, memoMethod: (userAgent) => isbot(userAgent) });
  return (userAgent) => userAgent !== null && verdicts.memo(userAgent);
}
