import type { Logger } from "pino";

/** What is known about the queue's server from this side of the connection. */
export interface ServerState {
  /** Aborted once this side closes. */
  readonly closing: AbortSignal;
  /** The server answered. */
  up(): void;
  /** The server did not answer, or refused. */
  down(error: unknown): void;
  /** An error that says nothing about the server, such as a job that is gone from it. */
  oddity(error: unknown): void;
}

/** The same oddity is logged once in this time. */
const quietMs = 60_000;

/** Oddities remembered at most; their texts hold job ids, so they are not a closed set. */
const maxRemembered = 100;

/**
 * Follows the server, and logs when it goes and when it comes back: never each attempt to reach it.
 * @param closing once aborted, nothing is news any more: connections go because we close them
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
        log.warn({ err: error }, "queue is down: alerts wait in the database, connecting goes on");
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
