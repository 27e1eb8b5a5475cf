import { listenForAccessChanges } from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";
import { hashApiKey, isApiKeyOf, type KeyService } from "./api-key.js";
import { findKey, type Principal } from "./find-key.query.js";
import { createKeyUses } from "./key-uses.js";

/** Principals remembered at most; the one looked up longest ago makes room. */
const maxEntries = 10_000;
/** How long an entry lives while changes are heard. A bound for what no notification covers, such as a restored backup. */
const heardLifeMs = 60_000;
/** How long an entry lives while the listener is down and a revocation would go unheard. */
const unheardLifeMs = 3_000;

export interface KeyDirectoryOptions {
  service: KeyService;
  pool: pg.Pool;
  /** For the connection that listens for changes. */
  connectionString: string;
  log: Logger;
  now?: () => number;
}

/** Knows which keys of a service are good, and for whom. */
export interface KeyDirectory {
  /**
   * Who a key acts for, or undefined when it is malformed, unknown, revoked or of another service. What is remembered comes
   * at once, anything else by a promise, which rejects only when the database cannot be asked.
   */
  find(key: string): Principal | undefined | Promise<Principal | undefined>;
  stop(): Promise<void>;
}

interface Entry {
  principal: Principal;
  loadedAt: number;
}

/**
 * Looks keys up in the database and remembers them in memory. Revoking a key or changing a plan reaches every instance at
 * once by `NOTIFY`; while that channel is down, entries live a few seconds only.
 */
export function createKeyDirectory(options: KeyDirectoryOptions): KeyDirectory {
  const { service, pool, log, now = Date.now } = options;
  const entries = new Map<string, Entry>();
  const loading = new Map<string, Promise<Principal | undefined>>();
  const uses = createKeyUses({ pool, log });
  let isListening = false;
  let isDeafTold = false;
  // Counts changes heard: what was read from the database before a change must not be remembered after it.
  let changes = 0;

  const listener = listenForAccessChanges({
    connectionString: options.connectionString,
    onChange: (accountId) => {
      changes++;
      for (const [hash, entry] of entries) if (entry.principal.accountId === accountId) entries.delete(hash);
      // Whose keys they look up is not known; a request that comes now must not get an answer from before the change.
      loading.clear();
    },
    onState: (listening) => {
      changes++;
      isListening = listening;
      entries.clear();
      loading.clear();
      if (listening) isDeafTold = false;
    },
    onError: (error) => {
      // It tries again twice a second.
      const level = isDeafTold ? "debug" : "warn";
      isDeafTold = true;
      log[level]({ err: error }, "changes of keys and plans are not heard; looking keys up more often");
    },
  });

  async function load(hash: Buffer, id: string): Promise<Principal | undefined> {
    const changesBefore = changes;
    const loadedAt = now();
    const principal = await findKey(pool, hash, service);
    if (principal && changes === changesBefore) {
      const oldest = entries.size >= maxEntries ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
      entries.set(id, { principal, loadedAt });
    }
    return principal;
  }

  function loadOnce(hash: Buffer, id: string): Promise<Principal | undefined> {
    const pending = loading.get(id);
    if (pending) return pending;
    const started = load(hash, id).finally(() => {
      if (loading.get(id) === started) loading.delete(id);
    });
    loading.set(id, started);
    return started;
  }

  async function lookUp(hash: Buffer, id: string): Promise<Principal | undefined> {
    entries.delete(id);
    const usedAt = now();
    const principal = await loadOnce(hash, id);
    if (principal) uses.note(principal.keyId, usedAt);
    return principal;
  }

  return {
    find(key) {
      if (!isApiKeyOf(service, key)) return undefined;
      const hash = hashApiKey(key);
      const id = hash.toString("latin1");
      const entry = entries.get(id);
      const usedAt = now();
      if (!entry || usedAt - entry.loadedAt > (isListening ? heardLifeMs : unheardLifeMs)) return lookUp(hash, id);
      uses.note(entry.principal.keyId, usedAt);
      return entry.principal;
    },
    async stop() {
      await listener.stop();
      await uses.stop();
    },
  };
}
