// Builds and generates by turbo, quietly.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));
const writtenAt = (file) => statSync(path(file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Runs a task where its files changed; a failure shows its output and ends the process. */
export function runTurbo(task) {
  const args = ["run", task, "--output-logs=errors-only", "--log-prefix=none"];
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const stdio = ["ignore", "pipe", "pipe"];
  const turbo = spawnSync(path("node_modules/.bin/turbo"), args, { cwd: path(""), env, stdio, encoding: "utf8" });
  if (turbo.status === 0) return;
  console.error(`${turbo.error ?? ""}${turbo.stdout ?? ""}${turbo.stderr ?? ""}\nWaymark could not be built.`);
  process.exit(1);
}

/** Generates the Prisma client and the newest migration's name, the only sources outside git. */
export function generateWhenOutdated() {
  const generatedAt = writtenAt("packages/database/src/generated/newest-migration.ts");
  const sources = ["prisma/schema.prisma", "prisma/migrations"];
  if (sources.some((source) => writtenAt(source) > generatedAt)) runTurbo("generate");
}
