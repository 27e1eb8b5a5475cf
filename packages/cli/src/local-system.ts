import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError } from "./context/command-error.js";
import { readJsonFile } from "./context/json.js";

/** The repository's root, seen from this file in `src/` or `dist/`. */
export const repositoryFolder = fileURLToPath(new URL("../../../", import.meta.url));

const isClone = existsSync(join(repositoryFolder, "pnpm-workspace.yaml"));

/** What a person types for the local system, and for its command line. */
export const typed = isClone
  ? { start: "npx --yes pnpm@10.34.9 start", commandLine: "npx --yes pnpm@10.34.9 waymark" }
  : { start: "npx waymark", commandLine: "npx waymark" };

/** A running local system. It describes itself in a file for its user alone. */
export interface LocalSystem {
  readonly pid: number;
  /** The process's start time by the operating system, to recognise a later process with the same id. */
  readonly processStart: string;
  /** Absent until the database is migrated. */
  readonly databaseUrl?: string;
  /** The services' processes; a killed `start` may leave them behind. */
  readonly apps?: readonly { readonly name: string; readonly pid: number; readonly processStart: string }[];
  readonly urls?: readonly string[];
  readonly collectorUrl?: string;
  readonly dashboardUrl?: string;
}

/**
 * The folder of a local system's data: `WAYMARK_DATA_DIR`, or `.waymark` in the repository, or at home for the npm package.
 * Relative paths count from there, so that `start` and the command line agree in every folder.
 */
export function dataFolderOf(env: NodeJS.ProcessEnv): string {
  return resolve(isClone ? repositoryFolder : homedir(), env["WAYMARK_DATA_DIR"] || ".waymark");
}

export function localSystemFile(dataFolder: string): string {
  return join(dataFolder, "local.json");
}

/** Reads a data folder's file; undefined when it is missing or malformed. It may be stale. */
export async function readLocalSystem(dataFolder: string): Promise<LocalSystem | undefined> {
  const { pid, processStart, ...more } = (await readJsonFile<LocalSystem>(localSystemFile(dataFolder))) ?? {};
  return pid !== undefined && processStart !== undefined ? { pid, processStart, ...more } : undefined;
}

/** @throws CommandError naming the source of a text that is no URL of the web */
export function checkWebUrl(url: string, source: string): void {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return;
  throw new CommandError(`${source} must be a URL that starts with http:// or https://.`);
}

/**
 * The public address of a part of the system: the given one, else that of the running local system. Commands work on the local
 * system without `DATABASE_URL` alone.
 * @throws CommandError naming the source of an address that is none
 */
export async function findPublicUrl(
  env: NodeJS.ProcessEnv,
  { url, source, part }: { url: string | undefined; source: string; part: "collectorUrl" | "dashboardUrl" },
): Promise<string | undefined> {
  if (url) checkWebUrl(url, source);
  const local = url || env["DATABASE_URL"] ? undefined : await readLocalSystem(dataFolderOf(env));
  return url || local?.[part];
}

export interface FoundDatabase {
  readonly url: string;
  readonly from: "environment" | "local";
}

const howToStart = `Start it with '${typed.start}', or set DATABASE_URL to the database that you mean.`;

/**
 * The database of `DIRECT_DATABASE_URL` or `DATABASE_URL`, else that of the running local system.
 * @throws CommandError when there is neither
 */
export async function findDatabase(env: NodeJS.ProcessEnv): Promise<FoundDatabase> {
  // Commands take locks for a session and copy tables, and a pooler may do neither.
  const url = env["DIRECT_DATABASE_URL"] || env["DATABASE_URL"];
  if (url) {
    if (!isPostgresUrl(url)) {
      throw new CommandError(
        "DATABASE_URL and DIRECT_DATABASE_URL must be URLs that start with postgres:// or postgresql://.",
      );
    }
    return { url, from: "environment" };
  }
  const folder = dataFolderOf(env);
  const local = await readLocalSystem(folder);
  if (!local) throw new CommandError(notRunning(folder));
  if (!local.databaseUrl) throw new CommandError("The local system is still starting. Try again in a moment.");
  return { url: local.databaseUrl, from: "local" };
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}

export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

export function notRunning(dataFolder: string): string {
  return `No local system is running in ${dataFolder}. ${howToStart}`;
}
