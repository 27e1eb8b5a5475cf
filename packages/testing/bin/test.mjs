#!/usr/bin/env node
// `pnpm test`: all tests, or those of a filter or pattern, from the sources in one Jest beside servers of their own.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWhenOutdated, runTurbo } from "../../local/bin/turbo.mjs";
import { fetchNode } from "./fetch-node.mjs";
import { findTests, readArguments, usage } from "./test-arguments.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const wanted = readArguments(process.argv.slice(2));
if (wanted.error || wanted.help) {
  (wanted.error ? console.error : console.log)(wanted.error ? `${wanted.error}\n\n${usage}` : usage);
  process.exit(wanted.error ? 2 : 0);
}
const env = { ...process.env };
if (wanted.inspect) env.WAYMARK_TEST_INSPECT = "1";
if (wanted.nightly) env.WAYMARK_TEST_NIGHTLY = "1";
if (wanted.pooler) env.WAYMARK_TEST_POOLER = wanted.pooler;
if (wanted.postgres) env.WAYMARK_TEST_POSTGRES = wanted.postgres;
if (wanted.node) {
  const binary = fetchNode(wanted.node);
  env.PATH = `${dirname(binary)}${delimiter}${env.PATH}`;
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout.trim();
  console.log(`Tests run on Node ${version}.`);
}
const files = findTests(listPackages(), wanted);
if (files.length === 0) {
  console.error("No test matches. `pnpm test --help` shows how to choose.");
  process.exit(2);
}
if (files.length === 1) generateWhenOutdated();
else {
  runTurbo("build");
  env.WAYMARK_TEST_BUILT = "1";
}
const withServers = join(root, "packages/local/bin/with-test-servers.mjs");
const run = [join(root, "packages/testing/bin/run.mjs"), JSON.stringify({ ...wanted, files }), ...wanted.jest];
process.exit(
  spawnSync("node", ["--conditions=source", withServers, "node", ...run], { cwd: root, stdio: "inherit", env })
    .status ?? 1,
);

/** Every package of the workspace with its test files. */
function listPackages() {
  return ["apps", "packages"].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => {
      const folder = join(root, group, name);
      const sources = ["src", "web"].map((part) => join(folder, part)).filter((part) => existsSync(part));
      const paths = sources.flatMap((part) => readdirSync(part, { recursive: true }).map((path) => join(part, path)));
      return { name: `@waymark/${name}`, folder, tests: paths.filter((path) => path.endsWith(".test.ts")) };
    }),
  );
}
