import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../context/command-error.js";

const suffix = ".backup";
const ours = /^waymark-\d{8}T\d{6}Z\.backup$/;
const leftover = /^waymark-\d{8}T\d{6}Z\.backup\.part$/;

/** A name by UTC time, so that names sort by age. */
export function backupName(now: Date): string {
  return `waymark-${now.toISOString().replace(/[-:]|\.\d+/g, "")}${suffix}`;
}

/** The backups of a folder, the newest first. Other files and folders do not count. @throws CommandError */
export function listBackups(folder: string): Promise<string[]> {
  return listFiles(folder, ours);
}

async function listFiles(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`The folder '${folder}' cannot be read (${error.code}).`, { cause: error });
  });
  const files = entries.filter((entry) => entry.isFile() && pattern.test(entry.name)).map(({ name }) => name);
  return files.sort().reverse();
}

/** Removes the parts that killed runs left. The caller holds the lock, so no run writes one. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await listFiles(folder, leftover)) await rm(join(folder, name));
}

/** Gives a whole file its name, which then survives a loss of power. */
export async function settle(part: string, folder: string, name: string): Promise<void> {
  await rename(part, join(folder, name));
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

/** Removes the oldest backups beyond `keep`, never the one just made, whatever the clock said of others. @returns their names */
export async function removeOld(folder: string, keep: number, made: string): Promise<string[]> {
  const others = (await listBackups(folder)).filter((name) => name !== made);
  const old = others.slice(keep - 1);
  for (const name of old) await rm(join(folder, name));
  return old;
}
