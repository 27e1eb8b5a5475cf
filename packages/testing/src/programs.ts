import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "@jest/globals";

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

/** Skips a suite without the program, by name; with `REQUIRE_` and its name in capitals, without a version, it throws. */
export function describeWithProgram(program: string, name: string, suite: (file: string) => void): void {
  const file = findProgram(program);
  const variable = `REQUIRE_${program.toUpperCase().replace(/\d+$/, "")}`;
  if (file) describe(name, () => suite(file));
  else if (process.env[variable]) throw new Error(`${variable} is set, and there is no ${program} on the PATH.`);
  else describe.skip(`${name} (needs ${program} on the PATH)`, () => suite(program));
}

/** Playwright's own `--disable-features` ends by ours. The popups of an address bar that no test sees cost more than its page. */
const unusedFeatures = [
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "PaintHolding"],
  ...["AimEnabled", "NetworkTimeServiceQuerying", "OptimizationHints", "PreconnectToSearch"],
  ...["SpareRendererForSitePerProcess", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup"],
];

export const chromiumFlags = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-gpu",
  `--disable-features=${unusedFeatures.join()}`,
];

/** Without the rest of a browser around them, pages take a third less processor time. */
const headless = "chromium-headless-shell";

/** @param needsAll whether the suite needs what the shell lacks, such as the cache of earlier pages */
export function describeWithChromium(name: string, suite: (executablePath: string) => void, needsAll = false): void {
  describeWithProgram(findProgram(headless) && !needsAll ? headless : "chromium", name, suite);
}

/** Runs a suite with the URL of Redis. Without Redis, jest reports it as skipped, by name. */
export function describeWithRedis(name: string, suite: (redisUrl: string) => void): void {
  const url = process.env["TEST_REDIS_URL"];
  if (url) describe(name, () => suite(url));
  else describe.skip(`${name} (needs redis-server on the PATH)`, () => suite("redis://127.0.0.1:1"));
}
