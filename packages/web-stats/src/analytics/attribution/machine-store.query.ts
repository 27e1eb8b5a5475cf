import { performance } from "node:perf_hooks";
import type pg from "pg";
import type { Machine, MachineList } from "./machine-list.schema.js";
import { loadMachines } from "./machines.js";

/** The list that a process works with; the same object until there is a newer one. */
export interface Machines {
  readonly list: MachineList;
  /** When `waymark bots update` stored it; null for the one that comes with Waymark. */
  readonly storedAt: string | null;
  find(name: string): Machine | undefined;
}

function open(list: MachineList, storedAt: string | null): Machines {
  const entries = new Map(list.machines.map((machine) => [machine.name, machine]));
  return { list, storedAt, find: (name) => entries.get(name) };
}

/** The only row, by `machine_list_pkey`; its list alone where it is another one than a process has. */
const readSql = `
  SELECT updated_at::text AS stored_at, CASE WHEN updated_at::text IS DISTINCT FROM $1 THEN list::text END AS list
  FROM machine_list WHERE version > $2`;

interface Row {
  readonly stored_at: string;
  readonly list: string | null;
}

async function read(pool: pg.Pool, known: Machines): Promise<Machines> {
  const values = [known.storedAt, loadMachines().version];
  const { rows } = await pool.query<Row>({ name: "read-machine-list", text: readSql, values });
  if (!rows[0]) return known.storedAt === null ? known : open(loadMachines(), null);
  const { stored_at: storedAt, list } = rows[0];
  return list === null ? known : open(JSON.parse(list), storedAt);
}

interface Reading {
  machines: Promise<Machines>;
  readAt: number;
}

const readings = new WeakMap<pg.Pool, Reading>();
const refreshMs = 60_000;

/**
 * Gives the stored list of machines, or the one that comes with Waymark if that is as new. A process asks the database once a
 * minute at most, and then goes on with the list it has until the answer.
 */
export async function machinesOf(pool: pg.Pool, now = performance.now()): Promise<Machines> {
  const reading = readings.get(pool);
  if (!reading) {
    const machines = read(pool, open(loadMachines(), null));
    readings.set(pool, { machines, readAt: now });
    machines.catch(() => readings.delete(pool));
    return machines;
  }
  if (now - reading.readAt >= refreshMs) {
    reading.readAt = now;
    const { machines } = reading;
    const next = machines.then((known) => read(pool, known));
    // A failure leaves the list, and the next minute tries again.
    next.then(
      () => {
        reading.machines = next;
      },
      () => undefined,
    );
  }
  return reading.machines;
}

/** Puts a list in the place of the stored one. */
const storeSql = `
  INSERT INTO machine_list (version, list) VALUES ($1, $2)
  ON CONFLICT (is_stored) DO UPDATE SET (version, list, updated_at) = (EXCLUDED.version, EXCLUDED.list, now())`;

export async function storeMachineList(pool: pg.Pool, list: MachineList): Promise<void> {
  await pool.query(storeSql, [list.version, JSON.stringify(list)]);
}
