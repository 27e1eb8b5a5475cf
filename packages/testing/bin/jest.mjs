#!/usr/bin/env node
// Runs jest on the package in the working folder, with the shared preset and Node's ES modules.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");
const config = fileURLToPath(new URL("../jest.config.mjs", import.meta.url));
const flags = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"];
const args = ["--config", config, "--rootDir", process.cwd(), "--maxWorkers=1", ...process.argv.slice(2)];
// A package's tests take a minute or two; one that hangs must fail, not hold up everything after it.
const limitMinutes = 60;
const result = spawnSync(process.execPath, [...flags, jest, ...args], {
  stdio: "inherit",
  timeout: limitMinutes * 60_000,
  killSignal: "SIGKILL",
});
if (result.signal) console.error(`The tests in ${process.cwd()} did not end within ${limitMinutes} minutes.`);
process.exit(result.status ?? 1);
