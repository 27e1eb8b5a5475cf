import type { Socket } from "node:net";
import type pg from "pg";

/** Whether a statement failed because no answer came in time. Its connection still waits for the answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Closes a connection without a word to the server. The driver tells whoever holds the client, and the pool. */
export function breakConnection(client: pg.ClientBase): void {
  // The driver shows its connection, its types do not.
  const { connection } = client as pg.ClientBase & { connection?: { stream?: Socket } };
  connection?.stream?.destroy();
}
