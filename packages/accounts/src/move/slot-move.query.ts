import { setTimeout } from "node:timers/promises";
import { tryTransaction, withConnection } from "@waymark/database";
import type pg from "pg";
import { MoveError } from "./move-error.js";
import { findMovedTables } from "./moved-tables.query.js";

/** Writers of all tenants queue behind a change of triggers, which waits so long for those at work. */
const lockTimeoutMs = 250;
const pauseMs = 250;
const attempts = 120;

export interface SlotMove {
  slot: string;
  id: string;
  phase: "moving" | "moved" | "finishing" | "undoing" | "arriving";
  other: string;
}

const columns = "slot, id, phase, other";

/** The moves that a database takes part in. */
export async function readMoves(pool: pg.Pool): Promise<SlotMove[]> {
  const { rows } = await pool.query<SlotMove>(`SELECT ${columns} FROM slot_move ORDER BY slot`);
  return rows;
}

const notifySql = "SELECT pg_notify('waymark_access', id::text) FROM account WHERE slot = $1";

/** Notes a phase of a slot's move, and tells the services. */
export async function setPhase(client: pg.ClientBase | pg.Pool, { slot, id, phase, other }: SlotMove): Promise<void> {
  await client.query(
    `INSERT INTO slot_move (slot, id, phase, other) VALUES ($1, $2, $3, $4) ON CONFLICT (slot) DO UPDATE SET phase = $3`,
    [slot, id, phase, other],
  );
  await client.query(notifySql, [slot]);
}

export async function forgetMove(pool: pg.Pool, slot: string): Promise<void> {
  await pool.query("DELETE FROM slot_move WHERE slot = $1", [slot]);
  await pool.query(notifySql, [slot]);
}

/**
 * Refuses all further changes of the slot's rows, also by statements that a service sends without knowing of the move. Each
 * trigger waits until the writers at work have ended, in short attempts. Returns once all earlier changes are committed.
 * @throws MoveError where writers hold a table for a minute
 */
export async function addTriggers(pool: pg.Pool): Promise<void> {
  for (const { table, triggerArguments } of await withConnection(pool, findMovedTables)) {
    const args = triggerArguments.map((it) => `'${it}'`).join(", ");
    await changeTable(
      pool,
      table,
      `CREATE OR REPLACE TRIGGER refuse_moving BEFORE INSERT OR UPDATE OR DELETE ON "${table}"
       FOR EACH ROW EXECUTE FUNCTION refuse_moving(${args})`,
    );
  }
}

/** @throws MoveError as {@link addTriggers} */
export async function dropTriggers(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ table: string }>(
    `SELECT c.relname AS table FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE t.tgname = 'refuse_moving' AND t.tgparentid = 0 ORDER BY 1`,
  );
  for (const { table } of rows) await changeTable(pool, table, `DROP TRIGGER IF EXISTS refuse_moving ON "${table}"`);
}

async function changeTable(pool: pg.Pool, table: string, sql: string): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await tryTransaction(pool, lockTimeoutMs, (client) => client.query(sql))) return;
    await setTimeout(pauseMs);
  }
  throw new MoveError(`Other sessions hold the table ${table}. Run the same command again later.`);
}
