#!/usr/bin/env node
// `pnpm bench NAME`: builds changed packages and runs the benchmark in a package's folder `bench`.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const benches = {
  traces: ["@waymark/trace-api"],
  neighbours: ["@waymark/trace-api", "--neighbours"],
  analytics: ["@waymark/collector"],
  dashboard: ["@waymark/dashboard"],
};

const root = fileURLToPath(new URL("../../../", import.meta.url));
const [name, ...args] = process.argv.slice(2).filter((arg) => arg !== "--");
if (!Object.hasOwn(benches, name ?? "")) {
  console.error(`usage: pnpm bench ${Object.keys(benches).join("|")} [--help]`);
  process.exit(2);
}
const run = (command, commandArgs) => {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const { status } = spawnSync(command, commandArgs, { cwd: root, stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
};
run("turbo", ["run", "build", "--output-logs=errors-only", "--log-prefix=none"]);
const [packageName, ...ownArgs] = benches[name];
run("pnpm", ["--silent", "--filter", packageName, "run", "bench", ...ownArgs, ...args]);
