import { listenForAccessChanges } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";

interface AccessCacheOptions<Value> {
  connectionString: string;
  load(id: string): Promise<Value | undefined>;
  accountOf(value: Value): string;
  /** The life of a value while the listener works. Bounds the effect of changes without notifications, such as a restore. */
  listeningLifeMs: number;
  /** The same while the listener is down and misses changes. */
  deafLifeMs: number;
  /** Values cached at most; the least recently used makes room. */
  maxEntries: number;
  now(): number;
  log: Logger;
  deafness: string;
}

/**
 * Caches what opens an account. `NOTIFY` brings changes to every instance at once, and look-ups of one id share a load. Values
 * not found are not kept.
 */
export function createAccessCache<Value extends object>(options: AccessCacheOptions<Value>) {
  const entries = new LRUCache<string, { value: Value; loadedAt: number }>({ max: options.maxEntries });
  const loading = new Map<string, Promise<Value | undefined>>();
  let isListening = false;
  let isDeafLogged = false;
  // A load that began before a change must not be cached after it.
  let changes = 0;

  /** Forgets an account at once; other instances hear of a change within a second. */
  function forget(accountId: string): void {
    changes++;
    for (const [id, { value }] of [...entries.entries()]) {
      if (options.accountOf(value) === accountId) entries.delete(id);
    }
    // Their accounts are unknown, and a request from now on must not get an answer from before the change.
    loading.clear();
  }

  const listener = listenForAccessChanges({
    connectionString: options.connectionString,
    onChange: forget,
    onState: (listening) => {
      changes++;
      isListening = listening;
      entries.clear();
      loading.clear();
      if (listening) isDeafLogged = false;
    },
    onError: (err) => {
      // The listener tries again twice a second.
      options.log[isDeafLogged ? "debug" : "warn"]({ err }, options.deafness);
      isDeafLogged = true;
    },
  });

  async function start(id: string): Promise<Value | undefined> {
    const [changesBefore, loadedAt] = [changes, options.now()];
    const value = await options.load(id);
    if (value && changes === changesBefore) entries.set(id, { value, loadedAt });
    return value;
  }

  return {
    /** A cached value that is young enough at a moment. */
    get(id: string, at: number): Value | undefined {
      const entry = entries.get(id);
      const lifeMs = isListening ? options.listeningLifeMs : options.deafLifeMs;
      return entry && Math.abs(at - entry.loadedAt) <= lifeMs ? entry.value : undefined;
    },
    load(id: string): Promise<Value | undefined> {
      const pending = loading.get(id);
      if (pending) return pending;
      entries.delete(id);
      const started = start(id).finally(() => {
        if (loading.get(id) === started) loading.delete(id);
      });
      loading.set(id, started);
      return started;
    },
    forget,
    stop: () => listener.stop(),
  };
}
