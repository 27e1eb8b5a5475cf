import { type Cells, type Erased, finishMove, moveSlot, readMoves, undoMove } from "@waymark/accounts";
import { allSlots } from "@waymark/auth";
import { createPool } from "@waymark/database";
import type { Command } from "commander";
import {
  type Act,
  type CommandContext,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  untilInterrupted,
} from "../context/command-context.js";
import { CommandError, UsageError } from "../context/command-error.js";
import { findDatabase } from "../local-system.js";
import { showStatus } from "../output/progress.js";
import { formatCount, formatTable, inWords } from "../output/terminal-text.js";

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

/** `waymark cell move` and `waymark cell moves`. */
export function addCellMoveCommands(cell: Command, act: Act): void {
  cell
    .command("move")
    .description("move a slot's accounts into another cell's database")
    .requiredOption("--slot <slot>", "two hexadecimal digits, such as a3")
    .option("--to <url>", "the other cell's database")
    .option("--finish", "remove the rows here, once the proxy leads to the other cell")
    .option("--undo", "take back a move that has not ended")
    .option("--yes", "finish though accounts are missing there")
    .addHelpText("after", moveHelp)
    .action(act((context, options: MoveOptions) => move(context, options)));
  cell
    .command("moves")
    .description("show the slots on their way from or to this cell")
    .action(act((context) => onDatabase(context, async ({ pool }) => presentMoves(await readMoves(pool)))));
}

async function move(context: CommandContext, options: MoveOptions): Promise<Outcome> {
  const { slot, finish, undo } = options;
  if (!allSlots.has(slot)) throw new UsageError("--slot must be two hexadecimal digits, such as a3.");
  if (finish && undo) throw new UsageError("Give --finish or --undo, not both.");
  return onCells(context, options.to, async (cells) => {
    if (finish || undo) return remove(context, cells, options);
    const display = showStatus(context.stderr);
    let rows: Record<string, number> = {};
    const isComplete = await untilInterrupted(context, display, async (signal) => {
      display.update("Waiting for writers");
      rows = await moveSlot(cells, slot, { signal, onProgress: (table) => display.update(`Copying ${table}`) });
    });
    if (!isComplete) return stopped(slot);
    const text = [
      `Moved slot ${slot} with ${inWords(rows["account"] ?? 0, "account")} and ${inWords(sum(rows), "row")}.`,
      "The other cell takes its requests; here they get 503. Reload the proxy with the new map, then run this with --finish.",
    ];
    return { value: { slot, phase: "moved", rows }, text: text.join("\n") };
  });
}

/** Runs `--finish` or `--undo`, which stop after a batch of rows. */
async function remove(context: CommandContext, cells: Cells, { slot, finish, yes }: MoveOptions): Promise<Outcome> {
  const display = showStatus(context.stderr);
  let erased: Erased = {};
  const isComplete = await untilInterrupted(context, display, async (signal) => {
    const control = {
      isStopping: () => signal.aborted,
      onProgress: (table: string, rows: number) => display.update(`Removing: ${formatCount(rows)} rows of ${table}`),
      isConfirmed: yes === true,
    };
    erased = await (finish ? finishMove(cells, slot, control) : undoMove(cells, slot, control));
  });
  if (!isComplete) return stopped(slot);
  const text = finish
    ? `Removed ${inWords(sum(erased), "row")} of slot ${slot} here.`
    : `Slot ${slot} is here as before; ${inWords(sum(erased), "row")} removed in the other cell.`;
  return { value: { slot, phase: finish ? "finished" : "undone", removed: erased }, text };
}

function stopped(slot: string): Outcome {
  const text = `Stopped. Writes of slot ${slot} get 503 until you run the same command again, or --undo.`;
  return { value: { slot, phase: "stopped" }, text, exitCode: interruptedExitCode };
}

const sum = (rows: Readonly<Record<string, number>>) => Object.values(rows).reduce((all, n) => all + n, 0);

const nameOf = (url: string) => {
  const { host, pathname } = new URL(url);
  return host + pathname;
};

async function onCells(
  context: CommandContext,
  to: string | undefined,
  work: (cells: Cells) => Promise<Outcome>,
): Promise<Outcome> {
  const url = to || context.env["TARGET_DATABASE_URL"];
  if (!url) throw new UsageError("Give --to, or set TARGET_DATABASE_URL: the other cell's database.");
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
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
      work({ source: pool, target, names: { source: nameOf(own), target: nameOf(url) } }),
    );
  } finally {
    await target.end();
  }
}

function presentMoves(moves: Awaited<ReturnType<typeof readMoves>>): Outcome {
  const value = moves.map(({ slot, phase, other }) => ({ slot, phase, other }));
  if (moves.length === 0) return { value, text: "No slot is on its way." };
  return { value, text: formatTable(["slot", "phase", "other"], value) };
}
