import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { CommandError } from "../context/command-error.js";

/** A file of settings: what it has, and its text. */
export interface SettingsFile {
  path: string;
  text: string;
  values: ReadonlyMap<string, string>;
}

/** @param example the file that a missing one begins as, such as `.env.example` */
export async function readSettingsFile(folder: string, name: string, example?: string): Promise<SettingsFile> {
  const path = join(folder, name);
  const text = (await read(path)) ?? (example === undefined ? "" : await read(join(folder, example)));
  if (text === undefined)
    throw new CommandError(`${folder} has no ${example}: name the folder 'docker' of Waymark with --into.`);
  // An empty line of a setting means its default, as for Compose.
  const set = Object.entries(parseEnv(text)).filter(([, value]) => value);
  return { path, text, values: new Map(set.map(([key, value = ""]) => [key, value])) };
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new CommandError(`${path} cannot be read: ${code}.`);
  }
}

/** Sets what the file lacks, in the line that has its name, else at the end. @returns the text, and the names set */
export function fill({ text, values }: SettingsFile, wanted: Readonly<Record<string, string>>) {
  const added = Object.entries(wanted).filter(([name]) => !values.has(name));
  let filled = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  for (const [name, value] of added) {
    const line = new RegExp(`^#?${name}=.*$`, "m");
    if (line.test(filled)) filled = filled.replace(line, () => `${name}=${value}`);
    else filled += `${name}=${value}\n`;
  }
  return { text: filled, names: added.map(([name]) => name) };
}

/** Whole or not at all, and for its owner alone. */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await chmod(`${path}.new`, 0o600);
    await rename(`${path}.new`, path);
  } catch (error) {
    throw new CommandError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
