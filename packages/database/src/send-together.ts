import type { Duplex } from "node:stream";
import type pg from "pg";

/** Sends all statements that `work` starts at once by one write to the socket, of a connection that sends them without waiting. */
export function sendTogether<Result>(client: pg.ClientBase, work: () => Result): Result {
  // The driver has the property; its types do not.
  const { stream } = (client as pg.ClientBase & { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return work();
  } finally {
    stream.uncork();
  }
}
