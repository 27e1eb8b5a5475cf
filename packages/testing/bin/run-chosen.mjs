#!/usr/bin/env node
// run-chosen.mjs FOLDERS [JEST-ARGUMENT]...: runs jest in each folder of a JSON list. Ends with 2 if no test has the title of -t.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const jest = fileURLToPath(new URL("./jest.mjs", import.meta.url));
const [list, ...args] = process.argv.slice(2);
let status = 0;
const counts = [];
for (const cwd of JSON.parse(list)) {
  const file = join(cwd, "test-results/counts.json");
  rmSync(file, { force: true });
  const run = spawnSync(process.execPath, [jest, ...args], { cwd, stdio: "inherit" });
  if (run.status !== 0) status = 1;
  if (existsSync(file)) counts.push(JSON.parse(readFileSync(file, "utf8")));
}
const title = counts[0]?.title;
if (status === 0 && title && counts.every(({ withTitle }) => withTitle === 0)) {
  console.error(`No test has the title "${title}".`);
  status = 2;
}
process.exit(status);
