#!/usr/bin/env node
// `pnpm dev`: `pnpm start` from the sources; an app restarts when its sources change.
import { spawn, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));
const writtenAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// The Prisma client is the only source outside git.
const schema = path("prisma/schema.prisma");
if (writtenAt(path("packages/database/src/generated/prisma/client.ts")) < writtenAt(schema)) {
  const args = ["run", "generate", "--output-logs=errors-only", "--log-prefix=none"];
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const { status } = spawnSync(path("node_modules/.bin/turbo"), args, { cwd: path(""), env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
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
