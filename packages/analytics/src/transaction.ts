import type pg from "pg";

/** Runs work in a transaction on a connection that is in none; what the work throws undoes all of it. */
export async function inTransaction<Result>(client: pg.ClientBase, work: () => Promise<Result>): Promise<Result> {
  await client.query("BEGIN");
  try {
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // A connection that broke cannot roll back; the server has done so.
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
