#!/usr/bin/env node
// `pnpm start`: builds what changed, quietly, and runs all of Waymark on this machine.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const main = new URL("../dist/main.js", import.meta.url);

if (!existsSync(main)) console.log("Building Waymark ...");
const turbo = fileURLToPath(new URL("../../../node_modules/.bin/turbo", import.meta.url));
const build = spawnSync(turbo, ["run", "build", "--output-logs=errors-only", "--log-prefix=none"], {
  cwd: root,
  stdio: ["ignore", "pipe", "pipe"],
  encoding: "utf8",
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
});
if (build.status === 0) await import(main);
else {
  console.error(`${build.error ?? ""}${build.stdout ?? ""}${build.stderr ?? ""}\nWaymark could not be built.`);
  process.exitCode = 1;
}
