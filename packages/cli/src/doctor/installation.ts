import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { parseEnv } from "node:util";
import { createPool } from "@waymark/database";
import type pg from "pg";
import type { CommandContext } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { explainError } from "../context/explain-error.js";
import { dataFolderOf, findDatabase, repositoryFolder } from "../local-system.js";

/** A file of settings, such as `docker/.env`. */
interface SettingsFile {
  readonly path: string;
  readonly names: readonly string[];
  /** Whether other users of this machine can read it. */
  readonly isOpen: boolean;
}

/** An installation as its operator sees it from one of its machines. */
export interface Installation {
  /** Of the process, and of the settings' file below it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: SettingsFile | undefined;
  /** The names in the `.env.example` beside the file, else in this release's; undefined without one. */
  readonly known: readonly string[] | undefined;
  readonly backups: string | undefined;
  /** Who gets a test mail; nobody without. */
  readonly mailTo: string | undefined;
  /** The pool, or why there is none. */
  readonly database: pg.Pool | string;
  now(): Date;
}

const statementTimeoutMs = 10_000;

interface VisitOptions {
  readonly settings?: string | undefined;
  readonly backups?: string | undefined;
  readonly mailTo?: string | undefined;
}

/** Opens an installation for some work. @throws CommandError for a file that cannot be read */
export async function onInstallation<T>(
  { env: given, stdin, now }: Pick<CommandContext, "env" | "stdin" | "now">,
  options: VisitOptions,
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  const { values, file } = await readSettings(options.settings, stdin);
  const env = { ...values, ...given };
  const known = await readKnown(file);
  const database = await connect(env);
  try {
    const { backups, mailTo } = options;
    return await work({ env, settings: file, known, backups, mailTo, database, now });
  } finally {
    if (typeof database !== "string") await database.end();
  }
}

async function connect(env: NodeJS.ProcessEnv): Promise<pg.Pool | string> {
  let pool: pg.Pool | undefined;
  let found: Awaited<ReturnType<typeof findDatabase>> | undefined;
  try {
    found = await findDatabase(env);
    const connection = { connectionString: found.url, maxConnections: 2, statementTimeoutMs };
    pool = createPool({ ...connection, applicationName: "waymark doctor" });
    await pool.query("SELECT 1");
    return pool;
  } catch (error) {
    await pool?.end();
    return explainError(error, found, dataFolderOf(env));
  }
}

async function readKnown(file: SettingsFile | undefined): Promise<string[] | undefined> {
  const folders = [...(file ? [dirname(file.path)] : []), join(repositoryFolder, "docker")];
  for (const folder of folders) {
    const example = await readFile(join(folder, ".env.example"), "utf8").catch(() => undefined);
    if (example !== undefined) return [...new Set(example.match(/\b[A-Z][A-Z0-9_]+(?==)/g))];
  }
  return undefined;
}

/** @param path `-` for standard input: a container sees no file of its host */
async function readSettings(path: string | undefined, stdin: CommandContext["stdin"]) {
  if (path === undefined) return { values: {}, file: undefined };
  try {
    const isFile = path !== "-";
    const text = isFile ? await readFile(path, "utf8") : await readText(stdin);
    const mode = isFile ? (await stat(path)).mode : 0;
    const values = parseEnv(text) as Record<string, string>;
    // An empty line of a setting means its default, as for Compose.
    const set = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    const file: SettingsFile = { path, names: Object.keys(values), isOpen: (mode & 0o004) !== 0 };
    return { values: set, file };
  } catch (error) {
    throw new CommandError(`The settings ${path} cannot be read: ${(error as Error).message}.`);
  }
}
