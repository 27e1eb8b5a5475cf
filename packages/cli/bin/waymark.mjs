#!/usr/bin/env node
// The command line. In a clone it first builds itself, quietly, when it is not built or a source is newer than its build.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));
const writtenAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const turbo = path("node_modules/.bin/turbo");
const lock = path("packages/cli/node_modules/.waymark-build.lock");

// Images and installed releases have no turbo.
const isClone = existsSync(turbo) && existsSync(path("packages/cli/src"));
if (isClone && (existsSync(lock) || isOutdated())) buildLocked();
await import("../dist/main.js");

/** Compares times only: turbo itself takes half a second. */
function isOutdated() {
  const builtAt = writtenAt(main);
  return builtAt === 0 || listSources().some((file) => writtenAt(file) > builtAt);
}

/** The compiled sources and manifests of the command line and of the packages of this workspace that it depends on. */
function listSources() {
  const sources = [path("prisma/schema.prisma")];
  const names = new Set(["cli"]);
  // The loop also visits the names that it adds.
  for (const name of names) {
    const manifest = path(`packages/${name}/package.json`);
    const source = path(`packages/${name}/src`);
    sources.push(manifest);
    for (const each of readdirSync(source, { recursive: true })) {
      if (/(?<!\.test|\.fixture)\.ts$/.test(each) && !each.startsWith("generated")) sources.push(join(source, each));
    }
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8"));
    for (const dependency of Object.keys(dependencies)) {
      if (dependency.startsWith("@waymark/")) names.add(dependency.slice("@waymark/".length));
    }
  }
  return sources;
}

/** One call builds; calls beside it wait until the build is whole. */
function buildLocked() {
  while (!takeLock()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  process.once("exit", releaseLock);
  // Another call may have built meanwhile.
  if (isOutdated()) build();
  process.off("exit", releaseLock);
  releaseLock();
}

function takeLock() {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  if (isAbandoned()) releaseLock();
  return false;
}

/** Whether the build that holds the lock was killed. Its process id may be another's by now, so ten minutes end it too. */
function isAbandoned() {
  if (Date.now() - writtenAt(lock) > 600_000) return true;
  try {
    process.kill(Number(readFileSync(lock, "utf8")) || process.pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function releaseLock() {
  rmSync(lock, { force: true });
}

function build() {
  if (!existsSync(main)) console.error("Building the command line, once ...");
  const startedAt = new Date();
  const [command, ...args] = hasPnpm() ? [turbo] : ["npx", "--yes", readPackageManager(), "exec", "turbo"];
  const result = spawnSync(
    command,
    [...args, "run", "build", "--filter=@waymark/cli...", "--output-logs=errors-only", "--log-prefix=none"],
    // Standard output belongs to the command.
    {
      cwd: path(""),
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8",
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
    },
  );
  // turbo writes nothing if the change left the output alone. A source changed during the build stays newer.
  if (result.status === 0) return utimesSync(main, startedAt, startedAt);
  console.error(`${result.error ?? ""}${result.stdout ?? ""}${result.stderr ?? ""}`);
  console.error("The command line could not be built. Run 'npx --yes pnpm@10.34.9 build' to see why.");
  process.exit(1);
}

/** turbo refuses to run where it finds no pnpm. */
function hasPnpm() {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "pnpm")));
}

function readPackageManager() {
  return JSON.parse(readFileSync(path("package.json"), "utf8")).packageManager;
}
