import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { type LocalSystem, localSystemFile, readLocalSystem } from "@waymark/cli";
import { isRunning, processStartOf } from "./processes.js";

/** This process's claim on a data folder. Other processes and the command line see it. */
export type Claim = Awaited<ReturnType<typeof claimDataFolder>>;

export class AlreadyRunningError extends Error {
  override name = "AlreadyRunningError";
}

/**
 * Claims a data folder for this process. After a kill of an earlier process it removes the file and ends the apps left behind.
 * @throws AlreadyRunningError when a running process holds it
 */
export async function claimDataFolder(dataFolder: string) {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const file = localSystemFile(dataFolder);
  let system: LocalSystem = { pid: process.pid, processStart: processStartOf(process.pid) ?? "" };
  const mine = `${file}.${randomUUID()}`;
  const write = () => writeFile(mine, JSON.stringify(system), { mode: 0o600 });
  await write();
  try {
    while (!(await isMade(mine, file))) await clearStale(dataFolder);
  } finally {
    await rm(mine);
  }
  return {
    async publish(more: Partial<LocalSystem>) {
      system = { ...system, ...more };
      await write();
      await rename(mine, file);
    },
    /** Frees the folder, also while the process ends. */
    release: () => rmSync(file, { force: true }),
  };
}

/** A sentence about the system on a data folder; undefined if none runs. */
export async function findRunning(dataFolder: string): Promise<string | undefined> {
  const system = await readLocalSystem(dataFolder);
  return system && isRunning(system) ? describe(dataFolder, system) : undefined;
}

/** Links the whole file to its name unless the name exists, so one of several processes succeeds. */
async function isMade(mine: string, file: string): Promise<boolean> {
  try {
    await link(mine, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Clears the file and the apps of a killed process. @throws AlreadyRunningError if that process still runs */
async function clearStale(dataFolder: string): Promise<void> {
  const earlier = await readLocalSystem(dataFolder);
  if (earlier && isRunning(earlier)) throw new AlreadyRunningError(describe(dataFolder, earlier));
  for (const app of earlier?.apps ?? []) if (isRunning(app)) process.kill(app.pid, "SIGTERM");
  // Another process may have replaced the file since we read it; its file stays.
  const now = await readLocalSystem(dataFolder);
  if (JSON.stringify(now) === JSON.stringify(earlier)) await rm(localSystemFile(dataFolder), { force: true });
}

function describe(dataFolder: string, { pid, urls }: LocalSystem): string {
  const where = urls ? `, at ${urls.join(" and ")}` : "";
  return `Waymark is running already (process ${pid}${where}), on the data in ${dataFolder}. Stop it with Ctrl-C where it was started, or set WAYMARK_DATA_DIR to another folder.`;
}
