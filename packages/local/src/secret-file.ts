import { rename, writeFile } from "node:fs/promises";

/** Writes a value as JSON for the owner alone, through a second file and a rename, so a kill leaves no half of one. */
export async function writeSecretFile(file: string, value: object): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
