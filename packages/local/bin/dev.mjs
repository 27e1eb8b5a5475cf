#!/usr/bin/env node
// `pnpm dev`: `pnpm start` from the sources; an app restarts when its sources change.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { generateWhenOutdated } from "./turbo.mjs";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));

generateWhenOutdated();
const flags = ["--import", import.meta.resolve("tsx"), "--conditions=source"];
const args = [...flags, path("packages/local/src/main.ts"), ...process.argv.slice(2), "--watch"];
// In its own process group: a second signal ends the system at once, and the terminal would send one to both processes.
const child = spawn(process.execPath, args, { stdio: "inherit", detached: true });
process.on("SIGINT", () => child.kill("SIGINT"));
// pnpm passes these on although its group gets them too.
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    child.kill(signal);
    process.on(signal, () => undefined);
  });
}
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
