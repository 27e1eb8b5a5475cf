import Bowser from "bowser";
import { isbot } from "isbot";
import { LRUCache } from "lru-cache";

/** Visitors share a few thousand user agents, and a check or parsing one takes long. */
export const maxCachedAgents = 10_000;

/** Makes the function that recognizes a bot by its `User-Agent`; a visitor without one is no bot. */
export function createBotCheck(): (userAgent: string | null) => boolean {
  const verdicts = new LRUCache<string, boolean>({ max: maxCachedAgents, memoMethod: (userAgent) => isbot(userAgent) });
  return (userAgent) => userAgent !== null && verdicts.memo(userAgent);
}

/** A visitor's software; null where the header names none that we know. */
export interface UserAgent {
  readonly browser: string | null;
  readonly os: string | null;
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly device: string | null;
}

/** No browser sends a longer header; the reader ignores the rest. */
const maxLength = 1_024;

const unknown: UserAgent = { browser: null, os: null, device: null };

export function createUserAgentReader(): (text: string | null) => UserAgent {
  const agents = new LRUCache<string, UserAgent>({ max: maxCachedAgents, memoMethod: parse });
  return (text) => (text ? agents.memo(text.slice(0, maxLength)) : unknown);
}

function parse(text: string): UserAgent {
  const { browser, os, platform } = Bowser.parse(text);
  return { browser: browser.name || null, os: os.name || null, device: platform.type || null };
}
