#!/usr/bin/env node
// `pnpm bench NAME`: builds changed packages and runs the benchmark in a package's folder `bench`.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { fetchNode } from "../../testing/bin/fetch-node.mjs";
import { runTurbo } from "./turbo.mjs";

const benches = {
  traces: ["@waymark/trace-api", "bench"],
  neighbours: ["@waymark/proof", "bench:neighbours"],
  analytics: ["@waymark/collector", "bench"],
};

const root = fileURLToPath(new URL("../../../", import.meta.url));
const [name, ...args] = process.argv.slice(2).filter((arg) => arg !== "--");
if (!Object.hasOwn(benches, name ?? "")) {
  console.error(`usage: pnpm bench ${Object.keys(benches).join("|")} [--help]`);
  process.exit(2);
}
runTurbo("build");
const [packageName, ...script] = benches[name];
const bench = ["--silent", "--filter", packageName, "run", ...script, ...args.map(withBinaries)];
process.exit(spawnSync("pnpm", bench, { cwd: root, stdio: "inherit" }).status ?? 1);

/** Versions of Node as their binaries. */
function withBinaries(arg, index) {
  const [, inline] = /^--node=(.+)/.exec(arg) ?? [];
  const versions = inline ?? (args[index - 1] === "--node" ? arg : undefined);
  if (versions === undefined) return arg;
  return `${inline ? "--node=" : ""}${versions.split(",").map(fetchNode).join(",")}`;
}
