#!/usr/bin/env node
// Runs every package's tests through turbo, then prints one closing line for all of them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const turbo = spawnSync("turbo", ["run", "test", "--concurrency=2", "--continue", ...process.argv.slice(2)], {
  stdio: "inherit",
});

const total = { passed: 0, failed: 0, skipped: 0 };
for (const group of ["apps", "packages"]) {
  for (const name of readdirSync(group)) {
    const file = join(group, name, "test-results", "counts.json");
    if (!existsSync(file)) continue;
    const counts = JSON.parse(readFileSync(file, "utf8"));
    for (const key of Object.keys(total)) total[key] += counts[key];
    for (const suite of counts.skippedSuites) console.log(`skipped: ${group}/${name}: ${suite}`);
  }
}
console.log(`Tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(turbo.status ?? 1);
