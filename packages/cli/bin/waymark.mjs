#!/usr/bin/env node
// The command line. In a clone it first builds itself, quietly, when it is not built or a source is newer than its build.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const path = (fromRoot) => fileURLToPath(new URL(`../../../${fromRoot}`, import.meta.url));
const writtenAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const turbo = path("node_modules/.bin/turbo");
const lock = path("packages/cli/node_modules/.waymark-build.lock");

// Images and installed releases have no turbo.
const isClone = existsSync(turbo) && existsSync(path("packages/cli/src"));
if (isClone && (existsSync(lock) || isOutdated())) await buildLocked();
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
async function buildLocked() {
  while (!takeLock()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  process.once("exit", releaseLock);
  // Another call may have built meanwhile.
  if (isOutdated()) await build();
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

async function build() {
  if (!existsSync(main)) console.error("Building the command line, once ...");
  const startedAt = new Date();
  const { runTurbo } = await import("../../local/bin/turbo.mjs");
  const failure = "The command line could not be built. Run 'npx --yes pnpm@10.34.9 build' to see why.";
  runTurbo("build", { filters: ["--filter=@waymark/cli..."], failure });
  // turbo writes nothing if the change left the output alone. A source changed during the build stays newer.
  utimesSync(main, startedAt, startedAt);
}
