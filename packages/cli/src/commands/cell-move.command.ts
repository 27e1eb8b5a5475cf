import { type Cells, finishMove, moveSlot, readMoves, undoMove } from "@waymark/accounts";
import { allSlots } from "@waymark/auth";
import { createPool } from "@waymark/database";
import type { Group } from "../context/command-builder.js";
import {
  type CommandContext,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  withStatus,
} from "../context/command-context.js";
import { CommandError, UsageError } from "../context/command-error.js";
import { findDatabase, isPostgresUrl, placeOf } from "../local-system.js";
import { inWords, listing } from "../output/terminal-text.js";
import { showErasure } from "./confirmed-erasure.js";

interface MoveOptions {
  slot: string;
  to?: string;
  finish?: true;
  undo?: true;
  yes?: true;
}

const moveHelp = `
Moves the slot's accounts with all they own from DATABASE_URL into another cell's database. Reads go on. Writes get 503 with
Retry-After until the map leads them to the other cell, so clients and exporters repeat them. The steps:

  1. Give the slot to the other cell too: its CELL_SLOTS, and a restart.
  2. waymark cell move --slot a3 --to postgres://owner@cell-b.example/waymark
  3. Print the map with the slot in the other cell (waymark cell map), reload the proxy, and take the slot out of CELL_SLOTS here.
  4. waymark cell move --slot a3 --to ... --finish     removes the slot's rows here

Until step 2 ends, --undo takes it back. Each command can be run again after an interruption, also by kill -9. The URLs are those
of the tables' owner; TARGET_DATABASE_URL may hold the one of --to, where no list of processes shows it.`;

export function addCellMoveCommands(cell: Group): void {
  cell("move", "move a slot's accounts into another cell's database", moveHelp)
    .required("--slot <slot>", "two hexadecimal digits, such as a3")
    .option("--to <url>", "the other cell's database")
    .option("--finish", "remove the rows here, once the proxy leads to the other cell")
    .option("--undo", "take back a move that has not ended")
    .option("--yes", "finish though accounts are missing there")
    .check(({ slot }) => !allSlots.has(slot) && "--slot must be two hexadecimal digits, such as a3.")
    .check(({ finish, undo }) => finish && undo && "Give --finish or --undo, not both.")
    .run((context, options) =>
      onCells(context, options.to, (cells) =>
        options.finish || options.undo ? remove(context, cells, options) : move(context, cells, options.slot),
      ),
    );
  cell("moves", "show the slots on their way from or to this cell").query(
    async ({ pool }) => (await readMoves(pool)).map(({ slot, phase, other }) => ({ slot, phase, other })),
    listing(["slot", "phase", "other"], "No slot is on its way."),
  );
}

async function move(context: CommandContext, cells: Cells, slot: string): Promise<Outcome> {
  const { isComplete, result: rows = {} } = await withStatus(context, (say, signal) => {
    say("Waiting for writers");
    return moveSlot(cells, slot, { signal, onProgress: (table) => say(`Copying ${table}`) });
  });
  if (!isComplete) return stopped(slot);
  const text = [
    `Moved slot ${slot} with ${inWords(rows["account"] ?? 0, "account")} and ${inWords(sum(rows), "row")}.`,
    "The other cell takes its requests; here they get 503. Reload the proxy with the new map, then run this with --finish.",
  ];
  return { value: { slot, phase: "moved", rows }, text: text.join("\n") };
}

/** Runs `--finish` or `--undo`, which stop after a batch of rows. */
async function remove(context: CommandContext, cells: Cells, { slot, finish, yes }: MoveOptions): Promise<Outcome> {
  const { isComplete, result: removed = {} } = await showErasure(context, (control) =>
    finish ? finishMove(cells, slot, { ...control, isConfirmed: yes === true }) : undoMove(cells, slot, control),
  );
  if (!isComplete) return stopped(slot);
  const text = finish
    ? `Removed ${inWords(sum(removed), "row")} of slot ${slot} here.`
    : `Slot ${slot} is here as before; ${inWords(sum(removed), "row")} removed in the other cell.`;
  return { value: { slot, phase: finish ? "finished" : "undone", removed }, text };
}

function stopped(slot: string): Outcome {
  const text = `Stopped. Writes of slot ${slot} get 503 until you run the same command again, or --undo.`;
  return { value: { slot, phase: "stopped" }, text, exitCode: interruptedExitCode };
}

const sum = (rows: Readonly<Record<string, number>>) => Object.values(rows).reduce((all, n) => all + n, 0);

async function onCells(
  context: CommandContext,
  to: string | undefined,
  work: (cells: Cells) => Promise<Outcome>,
): Promise<Outcome> {
  const url = to || context.env["TARGET_DATABASE_URL"];
  if (!url) throw new UsageError("Give --to, or set TARGET_DATABASE_URL: the other cell's database.");
  if (!isPostgresUrl(url)) {
    throw new UsageError("--to must be a URL that starts with postgres:// or postgresql://.");
  }
  const { url: own } = await findDatabase(context.env);
  const target = createPool({
    connectionString: url,
    maxConnections: 4,
    applicationName: "waymark command line",
    statementTimeoutMs: 0,
  });
  try {
    await target.query("SELECT 1").catch((error: Error) => {
      throw new CommandError(`The database of --to cannot be reached: ${error.message}.`, { cause: error });
    });
    return await onDatabase(context, ({ pool }) =>
      work({ source: pool, target, names: { source: placeOf(own), target: placeOf(url) } }),
    );
  } finally {
    await target.end();
  }
}
