#!/usr/bin/env node
// Runs jest on the package in the working folder, with the shared preset and Node's ES modules.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");
const config = fileURLToPath(new URL("../jest.config.mjs", import.meta.url));
const flags = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"];
if (process.env.WAYMARK_TEST_INSPECT) flags.push("--inspect-brk=127.0.0.1:9229");
const args = ["--config", config, "--rootDir", process.cwd(), "--maxWorkers=1", ...process.argv.slice(2)];
const isWatching = Boolean(process.env.WAYMARK_TEST_WATCH);
if (isWatching) {
  const packages = fileURLToPath(new URL("../..", import.meta.url));
  const sources = readdirSync(packages).map((name) => join(packages, name, "src"));
  const roots = new Set([join(process.cwd(), "src"), ...sources.filter((path) => existsSync(path))]);
  args.push("--watchAll", ...[...roots].flatMap((root) => ["--roots", root]));
}
// A package's tests take a minute or two; one that hangs must fail, not hold up everything after it.
const limitMinutes = 60;
const result = spawnSync(process.execPath, [...flags, jest, ...args], {
  stdio: "inherit",
  timeout: isWatching ? undefined : limitMinutes * 60_000,
  killSignal: "SIGKILL",
});
if (result.signal) console.error(`The tests in ${process.cwd()} did not end within ${limitMinutes} minutes.`);
process.exit(result.status ?? 1);
