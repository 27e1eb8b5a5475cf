#!/usr/bin/env node
// `pnpm chaos`, `pnpm bench NAME` and others: builds changed packages and runs the program of a name, with --node=VERSION on that Node.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runTurbo } from "../../local/bin/turbo.mjs";
import { fetchNode } from "../../testing/bin/fetch-node.mjs";

const benches = {
  traces: "dist/traces/main.js",
  neighbours: "dist/neighbours/main.js",
  analytics: "src/analytics/main.mjs",
  faults: "src/clients/faults.mjs",
};

const words = process.argv.slice(2).filter((arg) => arg !== "--");
const isBench = words[0] === "bench";
const [name = "", ...given] = isBench ? words.slice(1) : words;
if (isBench && !Object.hasOwn(benches, name)) {
  console.error(`usage: pnpm bench ${Object.keys(benches).join("|")} [--help]`);
  process.exit(2);
}
const args = given.filter((arg) => !arg.startsWith("--node="));
const version = given.find((arg) => arg.startsWith("--node="))?.slice("--node=".length);
const node = version ? fetchNode(version) : process.execPath;
runTurbo("build");
const main = fileURLToPath(new URL(`../${isBench ? benches[name] : `dist/${name}/main.js`}`, import.meta.url));
const program = spawn(node, [main, ...args], { stdio: "inherit" });
// The program removes what it made; Ctrl-C reaches it without help.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => program.kill("SIGTERM"));
program.on("exit", (code) => process.exit(code ?? 1));
