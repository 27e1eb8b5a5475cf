#!/usr/bin/env node
// run.mjs [--again] [TURBO-ARGUMENT]...: runs every package's tests through turbo, then prints one closing line for all of them.
// --again runs up to five failed files, and packages that were ended as a whole, once more, one at a time, and names each that passed only then.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const mostAgain = 5;
const isAgain = process.argv[2] === "--again";
const turboArguments = process.argv.slice(isAgain ? 3 : 2);

// Removes the counts of earlier runs; turbo restores the counts of unchanged packages.
const countFiles = ["apps", "packages"].flatMap((group) =>
  readdirSync(group, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ title: `${group}/${name}`, file: join(group, name, "test-results", "counts.json") })),
);
for (const { file } of countFiles) rmSync(file, { force: true });

const turbo = spawnSync("turbo", ["run", "test", "--concurrency=3", "--continue", ...turboArguments], {
  stdio: "inherit",
});

/** Each a file, or a package without counts: its jest was ended. */
const failed = [];
const total = { passed: 0, failed: 0, skipped: 0 };
for (const { title, file } of countFiles) {
  if (!existsSync(file)) {
    const { scripts } = JSON.parse(readFileSync(join(title, "package.json"), "utf8"));
    if (scripts?.test) failed.push({ folder: resolve(title) });
    continue;
  }
  const counts = JSON.parse(readFileSync(file, "utf8"));
  for (const key of Object.keys(total)) total[key] += counts[key];
  failed.push(...counts.failedFiles.map((path) => ({ folder: resolve(title), path })));
  // Once more at the end: turbo's output is long.
  for (const failure of counts.failures) console.log(`\n${title}\n${failure}`);
  for (const suite of counts.skippedSuites) console.log(`skipped: ${title}: ${suite}`);
}
console.log(`Tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
const isWorthAgain = isAgain && turbo.status !== null && failed.length > 0 && failed.length <= mostAgain;
process.exit(isWorthAgain && failed.filter((part) => !passesAlone(part)).length === 0 ? 0 : (turbo.status ?? 1));

function passesAlone({ folder, path }) {
  const jest = fileURLToPath(new URL("./jest.mjs", import.meta.url));
  const { status } = spawnSync(process.execPath, path ? [jest, path] : [jest], { cwd: folder, stdio: "inherit" });
  console.log(`${path ?? folder}: ${status === 0 ? "passed only alone; find out why" : "failed alone too"}`);
  return status === 0;
}
