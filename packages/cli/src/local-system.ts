import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root, seen from this file in `src/` or `dist/`. */
const repositoryFolder = fileURLToPath(new URL("../../../", import.meta.url));

/** What a running local system tells the command line, in a file that only its user can read. */
export interface LocalSystem {
  /** The process that runs it. */
  readonly pid: number;
  /** When that process started, as the operating system tells it: another process with the same id has another one. */
  readonly processStart: string;
  /** Absent until the database is migrated. */
  readonly databaseUrl?: string;
  /** The services' processes, which a killed run may have left behind. */
  readonly apps?: readonly { readonly name: string; readonly pid: number; readonly processStart: string }[];
  /** Where the services answer. */
  readonly urls?: readonly string[];
}

/**
 * The folder that keeps a local system's data: `WAYMARK_DATA_DIR`, or `.waymark` in the repository. Relative paths count
 * from the repository, so that `start` and the command line agree wherever they are called.
 */
export function dataFolderOf(env: NodeJS.ProcessEnv): string {
  return resolve(repositoryFolder, env["WAYMARK_DATA_DIR"] || ".waymark");
}

/** The file by which a running local system is found. */
export function localSystemFile(dataFolder: string): string {
  return join(dataFolder, "local.json");
}

/** What the file in a data folder says; undefined where there is none, or where it is no such file. It may be stale. */
export async function readLocalSystem(dataFolder: string): Promise<LocalSystem | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(localSystemFile(dataFolder), "utf8"));
    return isLocalSystem(read) ? read : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isLocalSystem(value: unknown): value is LocalSystem {
  return typeof value === "object" && value !== null && "pid" in value && "processStart" in value;
}
