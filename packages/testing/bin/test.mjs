#!/usr/bin/env node
// `pnpm test` runs all tests through turbo, or those of a filter or pattern straight from the sources.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchNode } from "./fetch-node.mjs";
import { findRefusal, findTests, needsBuild, readArguments, usage } from "./test-arguments.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const withServers = join(root, "packages/local/bin/with-test-servers.mjs");
const wanted = readArguments(process.argv.slice(2));
if (wanted.error || wanted.isHelpWanted) {
  (wanted.error ? console.error : console.log)(wanted.error ? `${wanted.error}\n\n${usage}` : usage);
  process.exit(wanted.error ? 2 : 0);
}
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
if (wanted.isWatchWanted) env.WAYMARK_TEST_WATCH = "1";
if (wanted.isInspectWanted) env.WAYMARK_TEST_INSPECT = "1";
if (wanted.pooler) env.WAYMARK_TEST_POOLER = wanted.pooler;
if (wanted.postgres) env.WAYMARK_TEST_POSTGRES = wanted.postgres;
if (wanted.node) {
  const binary = fetchNode(wanted.node);
  env.PATH = `${dirname(binary)}${delimiter}${env.PATH}`;
  // Turbo must not take the results of another Node for these.
  env.WAYMARK_TEST_NODE = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout.trim();
  console.log(`Tests run on Node ${env.WAYMARK_TEST_NODE}.`);
}

if (wanted.filters.length === 0 && wanted.jest.length === 0) {
  build();
  const again = wanted.isAgainWanted ? ["--again"] : [];
  end(["node", withServers, "node", join(root, "packages/testing/bin/run.mjs"), ...again]);
}
const chosen = findTests(listPackages(), wanted);
const refusal = findRefusal(chosen, wanted);
if (refusal) {
  console.error(refusal);
  process.exit(2);
}
if (!existsSync(join(root, "packages/local/dist/test-servers.js")) || needsBuild(chosen)) build();
const folders = JSON.stringify(chosen.map(({ folder }) => folder));
end(["node", withServers, "node", join(root, "packages/testing/bin/run-chosen.mjs"), folders, ...wanted.jest]);

function build() {
  const { status } = spawnSync(join(root, "node_modules/.bin/turbo"), ["run", "build", "--output-logs=errors-only"], {
    cwd: root,
    stdio: "inherit",
    env,
  });
  if (status !== 0) process.exit(status ?? 1);
}

function end([command, ...args]) {
  process.exit(spawnSync(command, args, { cwd: root, stdio: "inherit", env }).status ?? 1);
}

/** Every package of the workspace with its test files and their texts. */
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
