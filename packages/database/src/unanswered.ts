import type { Socket } from "node:net";
import type pg from "pg";

/** Whether a statement failed for lack of an answer. Its connection still waits for that answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Closes a connection without telling the server. The driver reports it to the client's holder and to the pool. */
export function breakConnection(client: pg.ClientBase): void {
  // The driver has the property; its types do not.
  const { connection } = client as pg.ClientBase & { connection?: { stream?: Socket } };
  connection?.stream?.destroy();
}
