import type pg from "pg";
import { withTransaction } from "./transaction.js";

/**
 * Runs work in a transaction with a limit on each statement's wait for a lock.
 * @returns false if a lock took longer: then nothing is done
 */
export async function tryTransaction(
  pool: pg.Pool,
  lockTimeoutMs: number,
  work: (client: pg.PoolClient) => Promise<unknown>,
): Promise<boolean> {
  try {
    await withTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      await work(client);
    });
    return true;
  } catch (error) {
    // SQLSTATE 55P03, lock_not_available.
    if ((error as { code?: unknown }).code === "55P03") return false;
    throw error;
  }
}
