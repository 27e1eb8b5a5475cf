import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { type EraseControl, type Erased, eraseMovedAccount } from "../erase.js";
import { type CopyOptions, copySlot } from "./copy-slot.query.js";
import {
  addTriggers,
  dropTriggers,
  forgetMove,
  MoveError,
  readMoves,
  type SlotMove,
  setPhase,
} from "./slot-move.query.js";

const uuid = createUuidV7();

export interface Cells {
  source: pg.Pool;
  target: pg.Pool;
  names: { source: string; target: string };
}

async function findMove(pool: pg.Pool, slot: string): Promise<SlotMove | undefined> {
  return (await readMoves(pool)).find((move) => move.slot === slot);
}

/** @throws MoveError where the slot moves to another database than this one */
async function findOwnMove({ source, names }: Cells, slot: string): Promise<SlotMove | undefined> {
  const moves = await readMoves(source);
  const move = moves.find((it) => it.slot === slot);
  if (move?.phase === "arriving") throw new MoveError(`The slot ${slot} arrives from ${move.other}.`);
  if (move && move.other !== names.target) throw new MoveError(`The slot ${slot} is on its way to ${move.other}.`);
  const another = moves.find((it) => it.slot !== slot && it.phase !== "arriving");
  if (another) throw new MoveError(`The slot ${another.slot} is on its way. Finish or undo its move first.`);
  return move;
}

/**
 * Moves a slot's accounts with all they own into another cell's database. First the source refuses their changes; then one
 * transaction copies and compares everything; then the source refuses their requests, and the target takes them. A call after
 * an interruption goes on from there, and so does one after the end. @throws MoveError with a sentence
 */
export async function moveSlot(cells: Cells, slot: string, options: CopyOptions): Promise<Record<string, number>> {
  const { source, target, names } = cells;
  let move = await findOwnMove(cells, slot);
  if (move?.phase === "undoing") throw new MoveError(`The move of slot ${slot} is being undone. Run it with --undo.`);
  await checkDatabases(source, target);
  if (!move) {
    await checkSlot(source, target, slot);
    move = { slot, id: uuid(), phase: "moving", other: names.target };
    await setPhase(source, move);
  }
  let rows: Record<string, number> = {};
  if (move.phase === "moving") {
    await addTriggers(source);
    if ((await findMove(target, slot))?.id !== move.id) {
      await checkSlot(source, target, slot);
      rows = await copySlot(source, target, { ...options, move: { ...move, other: names.source } });
    }
    await setPhase(source, { ...move, phase: "moved" });
  }
  if ((await findMove(target, slot))?.id === move.id) await forgetMove(target, slot);
  return rows;
}

/** Removes the source's rows of a moved slot. Confirmed, accounts may be missing in the target. @throws MoveError */
export async function finishMove(
  cells: Cells,
  slot: string,
  control: EraseControl & { isConfirmed: boolean },
): Promise<Erased> {
  const { source } = cells;
  const move = await findOwnMove(cells, slot);
  if (!move || move.phase === "moving" || move.phase === "undoing") {
    throw new MoveError(`The slot ${slot} has not moved.`);
  }
  if (!control.isConfirmed) await requireAccounts(cells, slot);
  if (move.phase === "moved") await setPhase(source, { ...move, phase: "finishing" });
  const erased = await eraseSlot(source, slot, control);
  if (control.isStopping()) return erased;
  await end(source, slot);
  return erased;
}

/** Takes back a move before its end, and returns what it removed in the target. @throws MoveError afterwards */
export async function undoMove(cells: Cells, slot: string, control: EraseControl): Promise<Erased> {
  const { source, target } = cells;
  const move = await findOwnMove(cells, slot);
  if (!move) throw new MoveError(`The slot ${slot} is not on its way.`);
  if (move.phase !== "moving" && move.phase !== "undoing") {
    throw new MoveError(`The slot ${slot} has moved. Finish the move, then move it back from the other cell.`);
  }
  await setPhase(source, { ...move, phase: "undoing" });
  let erased: Erased = {};
  if ((await findMove(target, slot))?.id === move.id) {
    erased = await eraseSlot(target, slot, control);
    if (control.isStopping()) return erased;
    await forgetMove(target, slot);
  }
  await end(source, slot);
  return erased;
}

async function end(source: pg.Pool, slot: string): Promise<void> {
  await dropTriggers(source);
  await forgetMove(source, slot);
}

async function requireAccounts({ source, target }: Cells, slot: string): Promise<void> {
  const sql = "SELECT id FROM account WHERE slot = $1";
  const { rows } = await source.query<{ id: string }>(sql, [slot]);
  const ids = rows.map(({ id }) => id);
  const { rowCount } = await target.query("SELECT FROM account WHERE id = ANY ($1)", [ids]);
  const missing = ids.length - (rowCount ?? 0);
  if (missing === 0) return;
  throw new MoveError(
    `The other cell does not have ${missing} of ${ids.length} accounts. Nothing is removed here. Add --yes if they were deleted there.`,
  );
}

async function eraseSlot(pool: pg.Pool, slot: string, control: EraseControl): Promise<Erased> {
  const erased: Erased = {};
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM account WHERE slot = $1", [slot]);
  for (const { id } of rows) {
    if (control.isStopping()) break;
    for (const [table, count] of Object.entries(await eraseMovedAccount(pool, id, control))) {
      erased[table] = (erased[table] ?? 0) + count;
    }
  }
  return erased;
}

// The roles of services may not read the system's identifier; its owner may.
const identitySql = `
  SELECT (SELECT system_identifier::text FROM pg_control_system()) || ' ' || oid AS identity,
    (SELECT string_agg(migration_name, ' ' ORDER BY migration_name) FROM _prisma_migrations WHERE rolled_back_at IS NULL) AS migrations,
    (SELECT day::text FROM event_horizon) AS horizon
  FROM pg_database WHERE datname = current_database()`;

async function identify(pool: pg.Pool) {
  const { rows } = await pool.query<{ identity: string; migrations: string; horizon: string | null }>(identitySql);
  if (!rows[0]) throw new Error("The database does not know itself");
  return rows[0];
}

async function checkDatabases(source: pg.Pool, target: pg.Pool): Promise<void> {
  const [from, to] = await Promise.all([identify(source), identify(target)]);
  if (from.identity === to.identity) throw new MoveError("--to is the database that the slot is in.");
  if (from.migrations !== to.migrations) {
    throw new MoveError(
      "The two databases have different migrations. Bring both to this version with 'waymark migrate'.",
    );
  }
  if ((from.horizon ?? "") > (to.horizon ?? "")) {
    throw new MoveError(
      `The other cell keeps raw events from ${to.horizon ?? "the first one"} and this one from ${from.horizon}: the other's figures of earlier days could be counted from a part. Give its worker the same EVENT_RETENTION_MONTHS first.`,
    );
  }
}

/** What two cells may both have, though one may not: by unique indexes of the target, and the source's rows of the slot. */
const collisions = [
  {
    what: "an account with the address",
    own: "SELECT id::text, email AS value FROM account WHERE slot = $1",
    others: "SELECT id::text, email AS value FROM account WHERE email = ANY ($1)",
  },
  {
    what: "another person with the address",
    own: `SELECT id::text, email AS value FROM person WHERE id IN (
      SELECT person_id FROM membership m JOIN account a ON a.id = m.account_id WHERE a.slot = $1)`,
    others: "SELECT id::text, email AS value FROM person WHERE email = ANY ($1) AND NOT id::text = ANY ($2)",
  },
  {
    what: "a site of the domain",
    own: `SELECT d.account_id::text AS id, d.domain AS value FROM site_domain d JOIN account a ON a.id = d.account_id WHERE a.slot = $1`,
    others: "SELECT account_id::text AS id, domain AS value FROM site_domain WHERE domain = ANY ($1)",
  },
];

/** @throws MoveError for a slot without accounts, and the first address or domain that the target has already */
async function checkSlot(source: pg.Pool, target: pg.Pool, slot: string): Promise<void> {
  const { rowCount } = await source.query("SELECT FROM account WHERE slot = $1 LIMIT 1", [slot]);
  if (!rowCount) throw new MoveError(`No account has the slot ${slot}.`);
  const { rows: taken } = await target.query("SELECT FROM account WHERE slot = $1 LIMIT 1", [slot]);
  if (taken.length > 0) throw new MoveError(`The other cell has accounts of the slot ${slot} already.`);
  for (const { what, own, others } of collisions) {
    const { rows } = await source.query<{ id: string; value: string }>(own, [slot]);
    const values = [rows.map(({ value }) => value), ...(others.includes("$2") ? [rows.map(({ id }) => id)] : [])];
    const { rows: found } = await target.query<{ value: string }>(`${others} LIMIT 1`, values);
    if (found[0]) throw new MoveError(`The other cell has ${what} ${found[0].value}. Remove or rename one of the two.`);
  }
}
