import { listenForAccessChanges } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Logger } from "pino";
import { hashApiKey, type KeyService, slotOfKey } from "./api-key.js";
import { type FoundKey, findKey, markKeysUsed, type Principal } from "./find-key.query.js";
import { allSlots, type Slots } from "./slots.js";

/** The life of a cached key while the listener works. Bounds the effect of changes without notifications, such as a restore. */
const listeningLifeMs = 60_000;
/** The life of a cached key while the listener is down and misses revocations. */
const deafLifeMs = 3_000;

export interface KeyDirectoryOptions {
  service: KeyService;
  pool: pg.Pool;
  /** For the listener's own connection. */
  connectionString: string;
  log: Logger;
  /** Of the cell; all by default. */
  slots?: Slots;
  now?: () => number;
  /** Keys cached at most; the least recently used makes room. */
  maxEntries?: number;
}

/** Finds the accounts of a service's keys. */
export interface KeyDirectory {
  /**
   * The principal of a key; undefined when it is malformed, unknown, revoked, ended, of another service or cell. A cached one
   * comes at once, any other by a promise, which rejects only when the database does not answer.
   */
  find(key: string): Principal | undefined | Promise<Principal | undefined>;
  stop(): Promise<void>;
}

interface Entry extends FoundKey {
  loadedAt: number;
}

/** Lets look-ups of one id share a load until it ends or `clear` forgets it. */
function createSharedLoads<Result>() {
  const loading = new Map<string, Promise<Result>>();
  return {
    join(id: string, load: () => Promise<Result>): Promise<Result> {
      const pending = loading.get(id);
      if (pending) return pending;
      const started = load().finally(() => {
        if (loading.get(id) === started) loading.delete(id);
      });
      loading.set(id, started);
      return started;
    },
    clear: () => loading.clear(),
  };
}

/**
 * Looks keys up in the database and caches them. `NOTIFY` brings revocations and changes of plans to every instance at once;
 * while the listener is down, cached keys live three seconds.
 */
export function createKeyDirectory(options: KeyDirectoryOptions): KeyDirectory {
  const { service, pool, log, slots = allSlots, now = Date.now, maxEntries = 10_000 } = options;
  const entries = new LRUCache<string, Entry>({ max: maxEntries });
  const loading = createSharedLoads<Entry | undefined>();
  const uses = createKeyUses({ pool, log });
  let isListening = false;
  let isDeafLogged = false;
  // A look-up that began before a change must not be cached after it.
  let changes = 0;

  const listener = listenForAccessChanges({
    connectionString: options.connectionString,
    onChange: (accountId) => {
      changes++;
      for (const [id, entry] of [...entries.entries()]) if (entry.principal.accountId === accountId) entries.delete(id);
      // Their accounts are unknown, and a request from now on must not get an answer from before the change.
      loading.clear();
    },
    onState: (listening) => {
      changes++;
      isListening = listening;
      entries.clear();
      loading.clear();
      if (listening) isDeafLogged = false;
    },
    onError: (error) => {
      // The listener tries again twice a second.
      const level = isDeafLogged ? "debug" : "warn";
      isDeafLogged = true;
      log[level]({ err: error }, "changes of keys and plans are not heard; looking keys up more often");
    },
  });

  async function load(hash: Buffer, id: string): Promise<Entry | undefined> {
    const [changesBefore, loadedAt] = [changes, now()];
    const found = await findKey(pool, hash, service);
    const entry = found && { ...found, loadedAt };
    if (entry && changes === changesBefore) entries.set(id, entry);
    return entry;
  }

  function use({ principal, endsAt }: Entry, usedAt: number): Principal | undefined {
    if (usedAt >= endsAt) return undefined;
    uses.note(principal.keyId, usedAt);
    return principal;
  }

  async function lookUp(hash: Buffer, id: string): Promise<Principal | undefined> {
    entries.delete(id);
    const usedAt = now();
    const entry = await loading.join(id, () => load(hash, id));
    return entry && use(entry, usedAt);
  }

  return {
    find(key) {
      const hash = hashApiKey(key);
      const id = hash.toString("latin1");
      const entry = entries.get(id);
      const usedAt = now();
      if (!entry && !slots.has(slotOfKey(service, key) ?? "")) return undefined;
      if (!entry || usedAt - entry.loadedAt > (isListening ? listeningLifeMs : deafLifeMs)) return lookUp(hash, id);
      return use(entry, usedAt);
    },
    async stop() {
      await listener.stop();
      await uses.stop();
    },
  };
}

const flushIntervalMs = 30_000;
/** A flush comes earlier when so many keys wait for it. */
const maxKeys = 10_000;

/** Collects the last use of each key and writes it to the database every 30 seconds. */
interface KeyUses {
  /** @param at milliseconds since 1970 */
  note(keyId: string, at: number): void;
  /** Writes the rest and ends. */
  stop(): Promise<void>;
}

function createKeyUses({ pool, log }: { pool: pg.Pool; log: Logger }): KeyUses {
  let latest = new Map<string, number>();
  async function flush(): Promise<void> {
    if (latest.size === 0) return;
    const uses = latest;
    latest = new Map();
    await markKeysUsed(pool, uses).catch((error: unknown) => {
      log.warn({ err: error }, "could not note when keys were used");
    });
  }
  const timer = setInterval(() => void flush(), flushIntervalMs);
  timer.unref();
  return {
    note(keyId, at) {
      latest.set(keyId, at);
      if (latest.size >= maxKeys) void flush();
    },
    stop() {
      clearInterval(timer);
      return flush();
    },
  };
}
