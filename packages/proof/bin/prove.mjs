#!/usr/bin/env node
// `pnpm chaos` and others: builds changed packages and runs the program of a folder in src, with --node=VERSION on that Node.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runTurbo } from "../../local/bin/turbo.mjs";
import { fetchNode } from "../../testing/bin/fetch-node.mjs";

const [name, ...given] = process.argv.slice(2).filter((arg) => arg !== "--");
const args = given.filter((arg) => !arg.startsWith("--node="));
const version = given.find((arg) => arg.startsWith("--node="))?.slice("--node=".length);
const node = version ? fetchNode(version) : process.execPath;
runTurbo("build");
const main = fileURLToPath(new URL(`../dist/${name}/main.js`, import.meta.url));
const program = spawn(node, [main, ...args], { stdio: "inherit" });
// The program removes what it made; Ctrl-C reaches it without help.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => program.kill("SIGTERM"));
program.on("exit", (code) => process.exit(code ?? 1));
