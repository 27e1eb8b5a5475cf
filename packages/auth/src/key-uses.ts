import type pg from "pg";
import type { Logger } from "pino";
import { markKeysUsed } from "./find-key.query.js";

/** How often the use of keys is written down. */
const flushIntervalMs = 30_000;
/** Keys whose use waits to be written down at most; then it is written at once. */
const maxKeys = 10_000;

/** Remembers when keys were used last, and writes it down now and then. */
export interface KeyUses {
  /** @param at milliseconds since 1970 */
  note(keyId: string, at: number): void;
  /** Writes down what is remembered, and no more after that. */
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
