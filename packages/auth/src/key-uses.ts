import type pg from "pg";
import type { Logger } from "pino";
import { markKeysUsed } from "./find-key.query.js";

const flushIntervalMs = 30_000;
/** A flush comes earlier when so many keys wait for it. */
const maxKeys = 10_000;

/** Collects the last use of each key and writes it to the database every 30 seconds. */
export interface KeyUses {
  /** @param at milliseconds since 1970 */
  note(keyId: string, at: number): void;
  /** Writes the rest and ends. */
  stop(): Promise<void>;
}

export function createKeyUses({ pool, log }: { pool: pg.Pool; log: Logger }): KeyUses {
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
