import { readFile } from "node:fs/promises";
import { machinesOf, maxListBytes, readMachineList, storeMachineList } from "@waymark/web-stats/analytics";
import type { TopCommand } from "../context/command-builder.js";
import { type CommandDatabase, onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { findFile } from "../imports/import-input.js";
import { formatCount } from "../output/terminal-text.js";

const updateHelp = `
The file has the form of packages/web-stats/assets/machines/machines.json and a later version than the list in use. Collectors,
analytics APIs and followers of logs work with it within a minute. A release of Waymark with a later list replaces it.

Example:
  $ waymark bots update --file machines.json`;

export function declareCommand(command: TopCommand): void {
  const bots = command.group();
  bots("show", "show which list of machines is in use").run((context) =>
    onDatabase(context, async ({ pool }) => describe(await readList(pool))),
  );
  bots("update", "replace the list of machines", updateHelp)
    .required("--file <file>", "the new list, JSON")
    .run((context, { file }) =>
      onDatabase(context, async ({ pool }) => {
        const { size } = await findFile(file);
        if (size > maxListBytes) throw new CommandError(`'${file}' has more than ${formatCount(maxListBytes)} bytes.`);
        const read = readMachineList(await readFile(file, "utf8"));
        if ("problems" in read) throw new CommandError(`'${file}' is refused:\n${read.problems.join("\n")}`);
        const { version } = await readList(pool);
        if (read.list.version <= version) {
          throw new CommandError(`'${file}' is refused:\nversion: Must be after ${version}, that of the list in use`);
        }
        await storeMachineList(pool, read.list);
        return describe({
          version: read.list.version,
          machines: read.list.machines.length,
          stored_at: context.now().toISOString(),
        });
      }),
    );
}

async function readList(pool: CommandDatabase["pool"]) {
  const { list, storedAt } = await machinesOf(pool);
  return { version: list.version, machines: list.machines.length, stored_at: storedAt };
}

function describe(value: Awaited<ReturnType<typeof readList>>) {
  const { version, machines, stored_at: storedAt } = value;
  const origin = storedAt === null ? "comes with Waymark" : `stored ${storedAt}`;
  return { value, text: `Version ${version}: ${formatCount(machines)} machines, ${origin}.` };
}
