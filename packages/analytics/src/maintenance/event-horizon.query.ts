import type pg from "pg";
import { tryTransaction } from "../recording/try-transaction.js";

/** The lock that imports share, each for a batch, and that the worker has alone while it raises the horizon. */
const key = "hashtextextended('waymark event horizon', 0)";

/** How long the worker waits for the imports' batches, in milliseconds. */
const lockTimeoutMs = 2_000;

/** The first UTC day whose raw events were never removed; null while none were. The only row. */
const readSql = "SELECT day::text FROM event_horizon";

/** Never goes back: the later of both days stays. The only row. */
const raiseSql = "UPDATE event_horizon SET day = GREATEST(day, $1::date)";

/** @returns `YYYY-MM-DD`, or null */
export async function readHorizon(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const { rows } = await client.query<{ day: string | null }>(readSql);
  return rows[0]?.day ?? null;
}

/** Reads the horizon and keeps it where it is until the transaction ends. Holds up nobody but the worker's retention. */
export async function holdHorizon(client: pg.ClientBase): Promise<string | null> {
  await client.query(`SELECT pg_advisory_xact_lock_shared(${key})`);
  return readHorizon(client);
}

/**
 * Raises the horizon to a day, once no batch of an import is under way that has read the one before.
 * @returns false where imports were in the way for longer than two seconds
 */
export function raiseHorizon(pool: pg.Pool, day: string): Promise<boolean> {
  return tryTransaction(pool, lockTimeoutMs, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(${key})`);
    await client.query(raiseSql, [day]);
  });
}
