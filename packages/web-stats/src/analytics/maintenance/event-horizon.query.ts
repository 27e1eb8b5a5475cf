import { tryTransaction } from "@waymark/database";
import type pg from "pg";

/** Imports share this lock, each for a batch; the worker takes it alone to raise the horizon. */
const key = "hashtextextended('waymark event horizon', 0)";

/** The worker waits so long for the imports' batches. */
const lockTimeoutMs = 2_000;

/** The first UTC day from which no raw event was removed; null before the first removal. Reads the only row. */
const readSql = "SELECT day::text FROM event_horizon";

/** The later day stays, so the horizon never goes back. Writes the only row. */
const raiseSql = "UPDATE event_horizon SET day = GREATEST(day, $1::date)";

/** @returns `YYYY-MM-DD`, or null */
export async function readHorizon(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const { rows } = await client.query<{ day: string | null }>(readSql);
  return rows[0]?.day ?? null;
}

/** Reads the horizon and holds it until the transaction ends. Only the worker's retention waits for it. */
export async function holdHorizon(client: pg.ClientBase): Promise<string | null> {
  await client.query(`SELECT pg_advisory_xact_lock_shared(${key})`);
  return readHorizon(client);
}

/**
 * Raises the horizon, once no import that has read the earlier one is within a batch.
 * @returns false if imports were in the way for two seconds
 */
export function raiseHorizon(pool: pg.Pool, day: string): Promise<boolean> {
  return tryTransaction(pool, lockTimeoutMs, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(${key})`);
    await client.query(raiseSql, [day]);
  });
}
