#!/usr/bin/env node
// `pnpm start`: builds changed packages quietly and runs all of Waymark on this machine.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runTurbo } from "./turbo.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const main = new URL("../dist/main.js", import.meta.url);

// Runs before the build, since the build takes longer, and in its own process, since the build may replace the program.
const dataFolder = resolve(root, process.env.WAYMARK_DATA_DIR || ".waymark");
if (existsSync(main) && existsSync(join(dataFolder, "local.json"))) {
  const check = spawnSync(process.execPath, [fileURLToPath(main), "--running"], { encoding: "utf8" });
  if (check.status === 3) {
    process.stderr.write(check.stderr);
    process.exit(2);
  }
}
if (!existsSync(main)) console.log("Building Waymark ...");
runTurbo("build");
await import(main);
