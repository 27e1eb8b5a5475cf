import { allSlots, firstSlot, parseSlots } from "@waymark/auth";
import { collect } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { UsageError } from "../context/command-error.js";
import { addCellMoveCommands } from "./cell-move.command.js";

const mapHelp = `
A cell is an installation with some of the accounts: those of its slots, as in its CELL_SLOTS. The map leads each request to the
cell of its key or session. docker/CELLS.md explains the rest.

Examples:
  $ waymark cell map --proxy nginx --cell a=00-7f --cell b=80-ff > /etc/nginx/conf.d/waymark-cells.conf
  $ waymark cell map --proxy caddy --cell a=00-7f --cell b=80-ff > /etc/caddy/waymark-cells.caddy`;

export function declareCommand(command: TopCommand): void {
  const cell = command.group();
  cell("map", "print a proxy's map of slots to cells", mapHelp)
    .required("--proxy <proxy>", "the proxy", { choices: ["nginx", "caddy"] })
    .required("--cell <name=slots>", "a cell and its slots; repeat it for each cell", { parse: collect })
    .run(async (_, { proxy, cell: cells }) => {
      const map = readCellMap(cells);
      return { value: Object.fromEntries(map), text: proxy === "nginx" ? printNginx(map) : printCaddy(map) };
    });
  addCellMoveCommands(cell);
}

/** The name of the cell of each of the 256 slots. */
type CellMap = ReadonlyMap<string, string>;

/** A name is part of names in a proxy's configuration. */
const cellPattern = /^([a-z][a-z0-9]{0,31})=(.+)$/;

/**
 * Reads a map from arguments such as `a=00-7f`.
 * @throws UsageError unless each slot has one cell
 */
function readCellMap(cells: readonly string[]): CellMap {
  const map = new Map<string, string>();
  for (const text of cells) {
    const [, cell = "", slots = ""] = cellPattern.exec(text) ?? [];
    const parsed = parseSlots(slots);
    if (!parsed) throw new UsageError(`--cell ${text} must be a name and slots, such as a=00-7f,a0.`);
    for (const slot of parsed) {
      const other = map.get(slot);
      if (other !== undefined) throw new UsageError(`The slot ${slot} is given twice: to ${other} and to ${cell}.`);
      map.set(slot, cell);
    }
  }
  for (const slot of allSlots) if (!map.has(slot)) throw new UsageError(`The slot ${slot} has no cell.`);
  return map;
}

/** The entries that differ from the cell of slot 00, which is the default. */
function printEntries(map: CellMap, indent: string, end: string): string {
  const home = map.get(firstSlot);
  const others = [...allSlots].filter((slot) => map.get(slot) !== home);
  return [`default ${home}`, ...others.map((slot) => `${slot} ${map.get(slot)}`)]
    .map((entry) => `${indent}${entry}${end}`)
    .join("\n");
}

const about = `# The cell of a request, by the slot of its shared link, key, session or host; without a slot that of ${firstSlot}. Printed by 'waymark cell map'.`;

/** For the `http` block: sets `$waymark_cell`. */
function printNginx(map: CellMap): string {
  return `${about}
map $host $waymark_host_slot {
  default ${firstSlot};
  "~^(?<waymark_host>[0-9a-f]{2})\\." $waymark_host;
}
map $http_cookie $waymark_cookie_slot {
  default $waymark_host_slot;
  "~(?:^|; *)__Host-waymark=(?<waymark_secure>[0-9a-f]{2})\\." $waymark_secure;
  "~(?:^|; *)waymark=(?<waymark_plain>[0-9a-f]{2})\\." $waymark_plain;
}
map $http_authorization $waymark_key_slot {
  default $waymark_cookie_slot;
  "~^(?i:Bearer) +wmk_(?:trace|stats)_(?<waymark_key>[0-9a-f]{2})_" $waymark_key;
}
map $uri $waymark_slot {
  default $waymark_key_slot;
  "~^/dashboard/(?:api/)?shared/wmk_link_(?<waymark_link>[0-9a-f]{2})_" $waymark_link;
}
map $waymark_slot $waymark_cell {
${printEntries(map, "  ", ";")}
}`;
}

/** A snippet for sites: `import waymark_cells` sets `{waymark_cell}`. */
function printCaddy(map: CellMap): string {
  return `${about}
(waymark_cells) {
	map {host} {waymark_host_slot} {
		~^([0-9a-f]{2})\\. \${1}
		default ${firstSlot}
	}
	map {header.Cookie} {waymark_cookie_slot} {
		~(?:^|;\\s*)__Host-waymark=([0-9a-f]{2})\\. \${1}
		~(?:^|;\\s*)waymark=([0-9a-f]{2})\\. \${1}
		default {waymark_host_slot}
	}
	map {header.Authorization} {waymark_key_slot} {
		~^(?i:Bearer)\\s+wmk_(?:trace|stats)_([0-9a-f]{2})_ \${1}
		default {waymark_cookie_slot}
	}
	map {path} {waymark_slot} {
		~^/dashboard/(?:api/)?shared/wmk_link_([0-9a-f]{2})_ \${1}
		default {waymark_key_slot}
	}
	map {waymark_slot} {waymark_cell} {
${printEntries(map, "\t\t", "")}
	}
}`;
}
