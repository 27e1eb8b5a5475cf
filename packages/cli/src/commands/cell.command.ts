import { type Command, Option } from "commander";
import { collect } from "../arguments/collect.js";
import { cellMapPrinters, readCellMap } from "../cells/cell-map.js";
import type { Act } from "../context/command-context.js";
import { addCellMoveCommands } from "./cell-move.command.js";

const mapHelp = `
A cell is an installation with some of the accounts: those of its slots, as in its CELL_SLOTS. The map leads each request to the
cell of its key or session. docker/CELLS.md explains the rest.

Examples:
  $ waymark cell map --proxy nginx --cell a=00-7f --cell b=80-ff > /etc/nginx/conf.d/waymark-cells.conf
  $ waymark cell map --proxy caddy --cell a=00-7f --cell b=80-ff > /etc/caddy/waymark-cells.caddy`;

type Proxy = keyof typeof cellMapPrinters;

/** `waymark cell map`, `waymark cell move` and `waymark cell moves`. */
export function addCellCommands(program: Command, act: Act): void {
  const cell = program.command("cell").description("spread accounts over several installations");
  const proxies = Object.keys(cellMapPrinters) as Proxy[];
  cell
    .command("map")
    .description("print a proxy's map of slots to cells")
    .addOption(new Option("--proxy <proxy>", "the proxy").choices(proxies).makeOptionMandatory())
    .requiredOption("--cell <name=slots>", "a cell and its slots; repeat it for each cell", collect)
    .addHelpText("after", mapHelp)
    .action(
      act(async (_context, { proxy, cell: cells }: { proxy: Proxy; cell: string[] }) => {
        const map = readCellMap(cells);
        return { value: Object.fromEntries(map), text: cellMapPrinters[proxy](map) };
      }),
    );
  addCellMoveCommands(cell, act);
}
