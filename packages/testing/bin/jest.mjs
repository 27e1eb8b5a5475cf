#!/usr/bin/env node
// Runs jest on the package in the working folder, with the shared preset and Node's ES modules.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { limitsOf } from "./limits.mjs";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");
const config = fileURLToPath(new URL("../jest.config.mjs", import.meta.url));
const flags = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"];
if (process.env.WAYMARK_TEST_INSPECT) flags.push("--inspect-brk=127.0.0.1:9229");
const args = ["--config", config, "--rootDir", process.cwd(), "--maxWorkers=1", ...process.argv.slice(2)];
if (process.env.WAYMARK_TEST_WATCH) {
  const packages = fileURLToPath(new URL("../..", import.meta.url));
  const sources = readdirSync(packages).map((name) => join(packages, name, "src"));
  const roots = new Set([join(process.cwd(), "src"), ...sources.filter((path) => existsSync(path))]);
  args.push("--watchAll", ...[...roots].flatMap((root) => ["--roots", root]));
}
const { packageMs } = limitsOf();
const result = spawnSync(process.execPath, [...flags, jest, ...args], {
  stdio: "inherit",
  timeout: packageMs,
  killSignal: "SIGKILL",
});
if (result.error?.code === "ETIMEDOUT") {
  console.error(`The tests in ${process.cwd()} did not end within ${packageMs / 60_000} minutes.`);
}
process.exit(result.status ?? 1);
