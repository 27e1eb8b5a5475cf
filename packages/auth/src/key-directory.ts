import type pg from "pg";
import type { Logger } from "pino";
import { createAccessCache } from "./access-cache.js";
import { hashApiKey, type KeyKind, slotOfKey } from "./api-key.js";
import { type FoundKey, findKey, markKeysUsed, type Principal } from "./find-key.query.js";
import { allSlots, type Slots } from "./slots.js";

interface KeyDirectoryOptions {
  service: KeyKind;
  pool: pg.Pool;
  connectionString: string;
  log: Logger;
  slots?: Slots;
  now?: () => number;
  maxEntries?: number;
}

export type KeyDirectory = ReturnType<typeof createKeyDirectory>;

/** Finds the accounts of a service's keys, cached for a minute; for three seconds while changes are not heard. */
export function createKeyDirectory(options: KeyDirectoryOptions) {
  const { service, pool, slots = allSlots, now = Date.now, maxEntries = 10_000 } = options;
  const uses = createKeyUses(options);
  const cache = createAccessCache<FoundKey>({
    ...options,
    load: (id) => findKey(pool, Buffer.from(id, "latin1"), service),
    accountOf: ({ principal }) => principal.accountId,
    listeningLifeMs: 60_000,
    deafLifeMs: 3_000,
    maxEntries,
    now,
    deafness: "changes of keys and plans are not heard; looking keys up more often",
  });

  function use({ principal, endsAt }: FoundKey, usedAt: number): Principal | undefined {
    if (usedAt >= endsAt) return undefined;
    uses.note(principal.keyId, usedAt);
    return principal;
  }

  return {
    /**
     * The principal of a key; undefined when it is malformed, unknown, revoked, ended, of another service or cell. A cached one
     * comes at once, any other by a promise, which rejects only when the database does not answer.
     */
    find(key: string): Principal | undefined | Promise<Principal | undefined> {
      const id = hashApiKey(key).toString("latin1");
      const usedAt = now();
      const cached = cache.get(id, usedAt);
      if (cached) return use(cached, usedAt);
      if (!slots.has(slotOfKey(service, key) ?? "")) return undefined;
      return cache.load(id).then((found) => found && use(found, usedAt));
    },
    async stop(): Promise<void> {
      await cache.stop();
      await uses.stop();
    },
  };
}

const flushIntervalMs = 30_000;
/** A flush comes earlier when so many keys wait for it. */
const maxKeys = 10_000;

/** Collects the last use of each key and writes it to the database every 30 seconds. */
function createKeyUses({ pool, log }: { pool: pg.Pool; log: Logger }) {
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
    /** @param at milliseconds since 1970 */
    note(keyId: string, at: number) {
      latest.set(keyId, at);
      if (latest.size >= maxKeys) void flush();
    },
    stop() {
      clearInterval(timer);
      return flush();
    },
  };
}
