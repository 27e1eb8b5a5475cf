import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { byRole, type RolePasswords } from "@waymark/database";

/** Reads the passwords of the services' roles, and adds missing ones, in a file for its owner alone. */
export async function readRolePasswordFile(file: string): Promise<RolePasswords> {
  const kept = await readKept(file);
  const passwords = byRole((role) => kept[role] ?? randomBytes(24).toString("base64url"));
  await writeFile(`${file}.new`, `${JSON.stringify(passwords, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return passwords;
}

/** Empty if the file is missing or malformed; the roles then get new passwords. */
async function readKept(file: string): Promise<Partial<RolePasswords>> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Partial<RolePasswords>;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}
