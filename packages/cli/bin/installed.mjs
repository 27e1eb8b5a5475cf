#!/usr/bin/env node
// The installed package: without a command it runs the whole system on this machine, else the command.
import module from "node:module";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";

// From Node 22.8 on, a quarter of a warm start's work is saved.
module.enableCompileCache?.();
const [first = "start"] = process.argv.slice(2);
const isStart = first === "start" || /^--(data|demo|no-demo|running)\b/.test(first);
if (!isStart) await import("../dist/main.js");
else {
  if (process.argv[2] === "start") process.argv.splice(2, 1);
  const at = process.argv.findIndex((arg) => /^--data(=|$)/.test(arg));
  if (at !== -1) {
    const [taken, next] = process.argv.splice(at, process.argv[at] === "--data" ? 2 : 1);
    const folder = next ?? taken.slice("--data=".length);
    if (!folder || folder === "--data") {
      process.stderr.write("--data takes a folder.\n");
      process.exit(2);
    }
    process.env.WAYMARK_DATA_DIR = resolve(folder);
  }
  process.env.WAYMARK_DATA_DIR ||= join(homedir(), ".waymark");
  // As `pnpm start` of the repository.
  setFlagsFromString("--heap-growing-percent=50");
  await import("../../local/dist/main.js");
}
