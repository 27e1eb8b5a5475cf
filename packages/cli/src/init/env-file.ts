import { execFile } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { CommandError } from "../context/command-error.js";

const run = promisify(execFile);

/** A folder's `.env`: what it has, and which variables are missing. */
export interface EnvFile {
  path: string;
  values: ReadonlyMap<string, string>;
  /** Whether the file must begin a new line before more is added. */
  isOpen: boolean;
}

export async function readEnvFile(folder: string): Promise<EnvFile> {
  const path = join(folder, ".env");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const values = new Map(Object.entries(parseEnv(text)).map(([name, value = ""]) => [name, value]));
  return { path, values, isOpen: text !== "" && !text.endsWith("\n") };
}

/**
 * The variables that the file lacks.
 * @throws CommandError where it has one with another value
 */
export function missingIn({ values, path }: EnvFile, wanted: Readonly<Record<string, string>>): [string, string][] {
  const others = Object.entries(wanted).filter(([name, value]) => (values.get(name) ?? value) !== value);
  if (others.length > 0) {
    const names = others.map(([name]) => name).join(", ");
    throw new CommandError(
      `${path} has other values of ${names}, and stays as it is. Change them there, or remove them.`,
    );
  }
  return Object.entries(wanted).filter(([name]) => !values.has(name));
}

/** Adds lines at the end; all else stays. A new file is for its owner alone. */
export async function addToEnvFile({ path, isOpen }: EnvFile, added: readonly [string, string][]): Promise<void> {
  const lines = added.map(([name, value]) => `${name}=${value}\n`).join("");
  await appendFile(path, `${isOpen ? "\n" : ""}${lines}`, { mode: 0o600 });
}

/** Whether git leaves the file out; undefined outside of a repository or without git. */
export async function isIgnoredByGit(folder: string, file: string): Promise<boolean | undefined> {
  try {
    await run("git", ["check-ignore", "--quiet", file], { cwd: folder, timeout: 2_000 });
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === 1 ? false : undefined;
  }
}
