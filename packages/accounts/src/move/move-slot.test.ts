import { afterAll, describe, expect, it } from "@jest/globals";
import { createPool, isDatabaseUnavailable, isMoving } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { countRows, makeFullAccount, total } from "../full-account.fixture.js";
import { type Cells, finishMove, moveSlot, undoMove } from "./move-slot.js";
import { findMovedTables, readMoves } from "./slot-move.query.js";

/** As the command line's: COPY needs a connection of its own. */
function useOwnPool() {
  const { url } = useDatabase();
  const settings = { connectionString: url, maxConnections: 4, applicationName: "test", statementTimeoutMs: 0 };
  const pool = createPool(settings);
  afterAll(() => pool.end());
  return { url, pool };
}
const [here, there] = [useOwnPool(), useOwnPool()];
const cells: Cells = { source: here.pool, target: there.pool, names: { source: "here", target: "there" } };
const options = { onProgress: () => undefined, signal: new AbortController().signal };
const control = { isStopping: () => false, isConfirmed: false };

let nextSlot = 16;
const newSlot = () => (nextSlot++).toString(16);

/** An account with a row in each table, in a slot of its own. */
async function makeAccount() {
  const slot = newSlot();
  return { slot, ...(await makeFullAccount(here.pool, { slot, domain: `${slot}.example` })) };
}
type Account = Awaited<ReturnType<typeof makeAccount>>;

const rowsOf = async (pool: pg.Pool, { accountId, siteId }: Account) => ({
  ...(await countRows(pool, "account_id", accountId)),
  ...(await countRows(pool, "site_id", siteId)),
});

/** All rows of a slot as text, without what stays behind. */
async function contentsOf(pool: pg.Pool, slot: string) {
  const client = await pool.connect();
  try {
    const tables = await findMovedTables(client);
    const read = async ({ table, values, where }: (typeof tables)[number]) => {
      const { rows } = await client.query(
        `SELECT ROW(${values})::text AS row FROM "${table}" WHERE ${where(slot)} ORDER BY 1`,
      );
      return [table, rows.map(({ row }) => row)] as const;
    };
    const all: Record<string, string[]> = {};
    for (const table of tables) Object.assign(all, Object.fromEntries([await read(table)]));
    return all;
  } finally {
    client.release();
  }
}

const write = (pool: pg.Pool, { accountId }: Account) =>
  pool.query("UPDATE trace_usage SET traces = traces + 1 WHERE account_id = $1", [accountId]);
const triggers = async () => (await here.pool.query("SELECT FROM pg_trigger WHERE tgname = 'refuse_moving'")).rowCount;

describe("a move of a slot", () => {
  it("brings each row of each table to the other cell, and then removes them here", async () => {
    const [moved, kept] = [await makeAccount(), await makeAccount()];
    const label =
      "UPDATE trace SET session_id = 's', user_id = 'u', tags = '{a,b}', label_origins = 1 WHERE account_id = $1";
    await here.pool.query(label, [moved.accountId]);
    const before = await contentsOf(here.pool, moved.slot);
    expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true);
    const keptBefore = await rowsOf(here.pool, kept);
    const rows = await moveSlot(cells, moved.slot, options);
    expect(rows).toMatchObject({ account: 1, trace: 1, span: 1, event: 1, person: 1 });
    expect(await contentsOf(there.pool, moved.slot)).toEqual(before);
    expect(await readMoves(here.pool)).toMatchObject([{ slot: moved.slot, phase: "moved", other: "there" }]);
    expect(await readMoves(there.pool)).toEqual([]);
    await write(there.pool, moved);
    await finishMove(cells, moved.slot, control);
    expect(total(await rowsOf(here.pool, moved))).toBe(0);
    expect(await rowsOf(here.pool, kept)).toEqual(keptBefore);
    expect(await readMoves(here.pool)).toEqual([]);
    expect(await triggers()).toBe(0);
  });

  it("refuses changes of the slot from its beginning, of all tables, and lets those of others be", async () => {
    const [moved, kept] = [await makeAccount(), await makeAccount()];
    const stop = new AbortController();
    const onProgress = (table: string) => table === "span" && stop.abort(new Error("stopped"));
    await expect(moveSlot(cells, moved.slot, { onProgress, signal: stop.signal })).rejects.toThrow("stopped");
    const client = await here.pool.connect();
    const tables = await findMovedTables(client);
    client.release();
    for (const { table, where } of tables) {
      const change = here.pool.query(`DELETE FROM "${table}" WHERE ${where(moved.slot)}`);
      const error = await change.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect([table, isMoving(error), isDatabaseUnavailable(error)]).toEqual([table, true, true]);
    }
    await write(here.pool, kept);
    await here.pool.query("UPDATE api_key SET last_used_at = now()");
    const { rows } = await here.pool.query("SELECT last_used_at FROM api_key WHERE account_id = $1", [moved.accountId]);
    expect(new Set(rows.map(({ last_used_at }) => last_used_at))).toEqual(new Set([null]));
    const sign = here.pool.query(
      "INSERT INTO account (id, email, plan, slot) VALUES (gen_random_uuid(), 'n@example.com', 'free', $1)",
      [moved.slot],
    );
    await expect(sign).rejects.toThrow(`slot ${moved.slot} is moving`);
    await undoMove(cells, moved.slot, control);
    expect((await write(here.pool, moved)).rowCount).toBe(1);
  });

  it("waits for writers at work, and leaves rows out of the worker's statements", async () => {
    const [moved, kept] = [await makeAccount(), await makeAccount()];
    const writer = await here.pool.connect();
    await writer.query("BEGIN");
    await writer.query("UPDATE trace_usage SET traces = 7 WHERE account_id = $1", [moved.accountId]);
    const moving = moveSlot(cells, moved.slot, options);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await readMoves(here.pool)).toMatchObject([{ phase: "moving" }]);
    await writer.query("COMMIT");
    writer.release();
    await moving;
    const worker = createPool({
      connectionString: here.url,
      maxConnections: 1,
      applicationName: "waymark worker",
      statementTimeoutMs: 0,
    });
    const { rowCount } = await worker.query("UPDATE trace_usage SET traces = 8 WHERE account_id = ANY ($1)", [
      [moved.accountId, kept.accountId],
    ]);
    await worker.end();
    expect(rowCount).toBe(1);
    const { rows } = await there.pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [moved.accountId]);
    expect(rows).toEqual([{ traces: 7 }]);
    await finishMove(cells, moved.slot, control);
  });

  it("can be undone after the copy, and then be made", async () => {
    const moved = await makeAccount();
    const before = await contentsOf(here.pool, moved.slot);
    // As if the command had ended between the copy's commit and the next statement.
    await here.pool.query(
      `CREATE FUNCTION stop_here() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''killed''; END';
       CREATE TRIGGER stop_here BEFORE UPDATE ON slot_move FOR EACH ROW WHEN (NEW.phase = 'moved') EXECUTE FUNCTION stop_here()`,
    );
    await expect(moveSlot(cells, moved.slot, options)).rejects.toThrow("killed");
    await here.pool.query("DROP FUNCTION stop_here CASCADE");
    expect(await readMoves(there.pool)).toMatchObject([{ slot: moved.slot, phase: "arriving" }]);
    await expect(finishMove(cells, moved.slot, control)).rejects.toThrow("has not moved");
    await undoMove(cells, moved.slot, { ...control, isStopping: () => true });
    await expect(moveSlot(cells, moved.slot, options)).rejects.toThrow("is being undone");
    await undoMove(cells, moved.slot, control);
    expect(total(await rowsOf(there.pool, moved))).toBe(0);
    expect(await readMoves(there.pool)).toEqual([]);
    expect(await contentsOf(here.pool, moved.slot)).toEqual(before);
    await moveSlot(cells, moved.slot, options);
    await expect(undoMove(cells, moved.slot, control)).rejects.toThrow("has moved");
    expect(await moveSlot(cells, moved.slot, options)).toEqual({});
    await finishMove(cells, moved.slot, control);
    expect(await contentsOf(there.pool, moved.slot)).toEqual(before);
  });
});

describe("a move that cannot be", () => {
  const refused = (slot: string, sentence: string) => expect(moveSlot(cells, slot, options)).rejects.toThrow(sentence);

  it("is refused before anything changes", async () => {
    const moved = await makeAccount();
    await refused("fe", "No account has the slot fe.");
    await expect(moveSlot({ ...cells, target: here.pool }, moved.slot, options)).rejects.toThrow(
      "--to is the database",
    );
    await there.pool.query("INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'x', '2099_x')");
    await refused(moved.slot, "different migrations");
    await there.pool.query("DELETE FROM _prisma_migrations WHERE id = 'x'");
    const address = `${moved.accountId}@example.com`;
    await there.pool.query("INSERT INTO account (id, email, plan) VALUES (gen_random_uuid(), $1, 'free')", [address]);
    await refused(moved.slot, `an account with the address ${address}`);
    await there.pool.query("DELETE FROM account");
    await there.pool.query("INSERT INTO person (id, email, name) VALUES (gen_random_uuid(), $1, 'x')", [address]);
    await refused(moved.slot, `another person with the address ${address}`);
    await there.pool.query("DELETE FROM person");
    await there.pool.query("INSERT INTO site_domain (domain, account_id) VALUES ($1, gen_random_uuid())", [
      `${moved.slot}.example`,
    ]);
    await here.pool.query("INSERT INTO site_domain (domain, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
      `${moved.slot}.example`,
      moved.accountId,
    ]);
    await refused(moved.slot, `a site of the domain ${moved.slot}.example`);
    expect([await readMoves(here.pool), await readMoves(there.pool)]).toEqual([[], []]);
  });

  it("keeps the rows here where accounts are missing there", async () => {
    const moved = await makeAccount();
    await moveSlot(cells, moved.slot, options);
    await there.pool.query("DELETE FROM account WHERE slot = $1", [moved.slot]);
    await expect(finishMove(cells, moved.slot, control)).rejects.toThrow("does not have 1 of 1 accounts");
    const other = await makeAccount();
    await refused(other.slot, `The slot ${moved.slot} is on its way. Finish or undo its move first.`);
    const elsewhere = { ...cells, names: { source: "here", target: "elsewhere" } };
    await expect(moveSlot(elsewhere, moved.slot, options)).rejects.toThrow("is on its way to there");
    await finishMove(cells, moved.slot, { ...control, isConfirmed: true });
    expect(total(await rowsOf(here.pool, moved))).toBe(0);
  });
});
