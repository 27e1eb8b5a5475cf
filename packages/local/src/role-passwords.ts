import { randomBytes } from "node:crypto";
import { readJsonFile } from "@waymark/cli";
import { byRole, type RolePasswords } from "@waymark/database";
import { writeSecretFile } from "./secret-file.js";

/** Reads the passwords of the services' roles, and adds missing ones, in a file for its owner alone. */
export async function readRolePasswordFile(file: string): Promise<RolePasswords> {
  const kept = await readJsonFile<RolePasswords>(file);
  const passwords = byRole((role) => kept?.[role] ?? randomBytes(24).toString("base64url"));
  await writeSecretFile(file, passwords);
  return passwords;
}
