#!/usr/bin/env node
// `pnpm chaos` and others: builds changed packages and runs the program of a folder in src.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const [name, ...args] = process.argv.slice(2).filter((arg) => arg !== "--");
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
const turbo = fileURLToPath(new URL("../../../node_modules/.bin/turbo", import.meta.url));
const { status } = spawnSync(turbo, ["run", "build", "--output-logs=errors-only", "--log-prefix=none"], {
  cwd: root,
  stdio: "inherit",
  env,
});
if (status !== 0) process.exit(status ?? 1);
process.argv.splice(2, process.argv.length, ...args);
await import(new URL(`../dist/${name}/main.js`, import.meta.url));
