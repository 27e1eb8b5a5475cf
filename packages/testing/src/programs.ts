import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "@jest/globals";

/** A program's file on the PATH, if any. */
function findProgram(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs a suite with the path of a program. Without the program, jest reports the suite as skipped, by name.
 * @throws Error without the program if `REQUIRE_` and its name in capitals, without a version, is set
 */
export function describeWithProgram(program: string, name: string, suite: (file: string) => void): void {
  const file = findProgram(program);
  const variable = `REQUIRE_${program.toUpperCase().replace(/\d+$/, "")}`;
  if (file) describe(name, () => suite(file));
  else if (process.env[variable]) throw new Error(`${variable} is set, and there is no ${program} on the PATH.`);
  else describe.skip(`${name} (needs ${program} on the PATH)`, () => suite(program));
}

export const describeWithChromium = (name: string, suite: (executablePath: string) => void) =>
  describeWithProgram("chromium", name, suite);
