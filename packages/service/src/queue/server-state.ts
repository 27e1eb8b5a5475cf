import type { Logger } from "pino";

/** Follows the queue's server from this side of the connection. */
export interface ServerState {
  /** Aborted once this side closes. */
  readonly closing: AbortSignal;
  /** The server answered. */
  up(): void;
  /** The server did not answer, or refused. */
  down(error: unknown): void;
  /** An error without meaning for the server's state, such as a missing job. */
  oddity(error: unknown): void;
}

/** The same oddity is logged once in this time. */
const quietMs = 60_000;

/** Oddities to remember at most: their texts hold job ids, so their number is not bounded. */
const maxRemembered = 100;

/**
 * Logs when the server goes and when it comes back, and no single attempt to reach it.
 * @param closing once aborted, it logs nothing: connections end because we close them
 */
export function createServerState(log: Logger, closing: AbortSignal): ServerState {
  let isDown = false;
  const loggedAt = new Map<string, number>();
  return {
    closing,
    up() {
      if (isDown && !closing.aborted) log.info("queue is up again");
      isDown = false;
    },
    down(error) {
      if (!isDown && !closing.aborted) {
        log.warn({ err: error }, "queue is down: its work waits in the database, connecting goes on");
      }
      isDown = true;
    },
    oddity(error) {
      const text = error instanceof Error ? error.message : String(error);
      const now = Date.now();
      if (isDown || closing.aborted || now - (loggedAt.get(text) ?? 0) < quietMs) return;
      if (loggedAt.size >= maxRemembered) loggedAt.clear();
      loggedAt.set(text, now);
      log.warn({ err: error }, "queue reported an error");
    },
  };
}
