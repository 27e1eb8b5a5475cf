#!/usr/bin/env node
// run.mjs WANTED [JEST-ARGUMENT]...: runs the test files of WANTED, as JSON, in one Jest.
// Ends with 2 if no test has the title of -t. `again` runs up to five failed files once more, each alone, and names those that pass only then.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { limitsOf } from "./limits.mjs";

const mostAgain = 5;
const jest = createRequire(import.meta.url).resolve("jest/bin/jest");
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const [wanted, ...jestArguments] = process.argv.slice(2);
const { files, again = false, watch = false } = JSON.parse(wanted);
const { status, counts } = runJest(files);
if (watch || !counts) process.exit(status);

const { passed, failed, skipped, failures, skippedSuites, withTitle } = counts;
if (files.length > 1) {
  // Once more at the end: the output is long.
  for (const [, failure] of failures) console.log(`\n${failure}`);
  for (const suite of skippedSuites) console.log(`skipped: ${suite}`);
  console.log(`Tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);
}
if (status === 0 && withTitle === 0) {
  console.error("No test has the title of -t.");
  process.exit(2);
}
const isWorthAgain = again && failures.length > 0 && failures.length <= mostAgain;
process.exit(isWorthAgain && failures.filter(([path]) => !passesAlone(path)).length === 0 ? 0 : status);

function runJest(paths) {
  const folder = mkdtempSync(join(tmpdir(), "waymark-counts-"));
  const file = join(folder, "counts.json");
  const own = [`--reporters=${here("./reporter.mjs")}`, watch ? "--watchAll" : "--watchAll=false"];
  if (paths.length === 1) own.push("--reporters=default");
  const args = ["--config", here("../jest.config.mjs"), "--rootDir", process.cwd(), ...own, ...jestArguments];
  const { runMs } = limitsOf();
  const run = spawnSync(process.execPath, [jest, ...args, "--runTestsByPath", ...paths], {
    stdio: "inherit",
    env: { ...process.env, WAYMARK_TEST_COUNTS: file },
    timeout: runMs,
    killSignal: "SIGKILL",
  });
  if (run.error?.code === "ETIMEDOUT") console.error(`The tests did not end within ${runMs / 60_000} minutes.`);
  const counts = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  rmSync(folder, { recursive: true });
  return { status: run.status ?? 1, counts };
}

function passesAlone(path) {
  const { status } = runJest([path]);
  console.log(`${path}: ${status === 0 ? "passed only alone; find out why" : "failed alone too"}`);
  return status === 0;
}
