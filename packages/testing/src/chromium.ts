import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "@jest/globals";

/** The Chromium on the PATH, if any. */
function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, "chromium")).find(isExecutable);
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
 * Runs a suite with the path of Chromium. Without Chromium, jest reports it as skipped, by name.
 * @throws Error without Chromium if `REQUIRE_CHROMIUM` is set
 */
export function describeWithChromium(name: string, suite: (executablePath: string) => void): void {
  const chromium = findChromium();
  if (chromium) describe(name, () => suite(chromium));
  else if (process.env["REQUIRE_CHROMIUM"]) {
    throw new Error("REQUIRE_CHROMIUM is set, and there is no chromium on the PATH.");
  } else describe.skip(`${name} (needs chromium on the PATH)`, () => suite("chromium"));
}
