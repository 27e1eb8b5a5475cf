// Builds and generates by turbo, quietly.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));
const writtenAt = (file) => statSync(path(file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Runs a task where its files changed; a failure shows its output and ends the process. */
export function runTurbo(task, { filters = [], failure = "Waymark could not be built." } = {}) {
  const args = ["run", task, ...filters, "--output-logs=errors-only", "--log-prefix=none"];
  const [command, ...first] = hasPnpm()
    ? [path("node_modules/.bin/turbo")]
    : ["npx", "--yes", JSON.parse(readFileSync(path("package.json"), "utf8")).packageManager, "exec", "turbo"];
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const stdio = ["ignore", "pipe", "pipe"];
  const turbo = spawnSync(command, [...first, ...args], { cwd: path(""), env, stdio, encoding: "utf8" });
  if (turbo.status === 0) return;
  console.error(`${turbo.error ?? ""}${turbo.stdout ?? ""}${turbo.stderr ?? ""}\n${failure}`);
  process.exit(1);
}

/** turbo refuses to run where it finds no pnpm. */
function hasPnpm() {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "pnpm")));
}

/** Generates the Prisma client and the newest migration's name, the only sources outside git. */
export function generateWhenOutdated() {
  const generatedAt = writtenAt("packages/database/src/generated/newest-migration.ts");
  const sources = ["prisma/schema.prisma", "prisma/migrations"];
  if (sources.some((source) => writtenAt(source) > generatedAt)) runTurbo("generate");
}
