import Bowser from "bowser";
import { LRUCache } from "lru-cache";

/** A visitor's software; null where the header names none that we know. */
export interface UserAgent {
  readonly browser: string | null;
  readonly os: string | null;
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly device: string | null;
}

/** Visitors share a few thousand user agents, and parsing one takes long. */
const maxCachedAgents = 10_000;

/** No browser sends a longer header; the reader ignores the rest. */
const maxLength = 1_024;

const unknown: UserAgent = { browser: null, os: null, device: null };

/** Makes the function that parses `User-Agent` headers. */
export function createUserAgentReader(): (text: string | null) => UserAgent {
  const agents = new LRUCache<string, UserAgent>({ max: maxCachedAgents, memoMethod: parse });
  return (text) => (text ? agents.memo(text.slice(0, maxLength)) : unknown);
}

function parse(text: string): UserAgent {
  const { browser, os, platform } = Bowser.parse(text);
  return { browser: browser.name || null, os: os.name || null, device: platform.type || null };
}
