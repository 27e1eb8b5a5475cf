import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "@jest/globals";

/** The Chromium on the PATH, or undefined where there is none. */
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
 * A suite that needs a browser: runs with the path of Chromium, or is reported as skipped, by name, where there is none.
 * @throws Error where there is none and `REQUIRE_CHROMIUM` is set
 */
export function describeWithChromium(name: string, suite: (executablePath: string) => void): void {
  const chromium = findChromium();
  if (chromium) describe(name, () => suite(chromium));
  else if (process.env["REQUIRE_CHROMIUM"]) {
    throw new Error("REQUIRE_CHROMIUM is set, and there is no chromium on the PATH.");
  } else describe.skip(`${name} (needs chromium on the PATH)`, () => suite("chromium"));
}
