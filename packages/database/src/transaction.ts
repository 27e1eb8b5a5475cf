import type pg from "pg";
import { breakConnection, isUnanswered } from "./unanswered.js";

/** Runs work in a transaction on a connection that is in none; what the work throws undoes all of it. */
export async function inTransaction<Result>(client: pg.ClientBase, work: () => Promise<Result>): Promise<Result> {
  await client.query("BEGIN");
  try {
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // A connection that hangs or broke cannot roll back; the server does so when it notices.
    if (isUnanswered(error)) breakConnection(client);
    else await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** The same on a connection of the pool, which is not given back where the transaction failed: its state is not known. */
export async function withTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  // The driver also tells of a broken connection by an event, which ends the process where nobody listens.
  const onError = (error: Error) => {
    failure = error;
  };
  client.on("error", onError);
  try {
    return await inTransaction(client, () => work(client));
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off("error", onError);
    client.release(failure);
  }
}
