#!/usr/bin/env node
// Runs every package's tests through turbo, then prints one closing line for all of them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

// Removes the counts of earlier runs; turbo restores the counts of unchanged packages.
const countFiles = ["apps", "packages"].flatMap((group) =>
  readdirSync(group, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ title: `${group}/${name}`, file: join(group, name, "test-results", "counts.json") })),
);
for (const { file } of countFiles) rmSync(file, { force: true });

const turbo = spawnSync("turbo", ["run", "test", "--concurrency=2", "--continue", ...process.argv.slice(2)], {
  stdio: "inherit",
});

const total = { passed: 0, failed: 0, skipped: 0 };
for (const { title, file } of countFiles) {
  if (!existsSync(file)) continue;
  const counts = JSON.parse(readFileSync(file, "utf8"));
  for (const key of Object.keys(total)) total[key] += counts[key];
  // Once more at the end: turbo's output is long.
  for (const failure of counts.failures) console.log(`\n${title}\n${failure}`);
  for (const suite of counts.skippedSuites) console.log(`skipped: ${title}: ${suite}`);
}
console.log(`Tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(turbo.status ?? 1);
