#!/usr/bin/env node
// run.mjs WANTED [JEST-ARGUMENT]...: runs the test files of WANTED, as JSON, in one Jest.
// Ends with 2 if no test has the title of -t. `again` runs up to five failed files once more, each alone, and names those that pass only then.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { buildArgv, runCLI } from "jest";

const mostAgain = 5;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const [wanted, ...jestArguments] = process.argv.slice(2);
const { files, again = false, watch = false } = JSON.parse(wanted);
const { results, title } = await runJest(files);
const tests = results.testResults.flatMap((file) => file.testResults);
const failures = results.testResults.filter((file) => file.failureMessage);
if (files.length > 1) summarize();
if (results.success && !tests.some(({ fullName }) => title.test(fullName))) {
  console.error("No test has the title of -t.");
  process.exit(2);
}
let isPassed = results.success;
if (again && failures.length > 0 && failures.length <= mostAgain) {
  isPassed = true;
  for (const { testFilePath } of failures) isPassed = (await passesAlone(testFilePath)) && isPassed;
}
process.exit(isPassed ? 0 : 1);

async function runJest(paths) {
  const own = ["--config", JSON.stringify(configOf(paths)), watch ? "--watchAll" : "--watchAll=false"];
  const argv = await buildArgv([...own, ...jestArguments, "--runTestsByPath", ...paths]);
  const { results } = await runCLI(argv, [process.cwd()]);
  // As jest matches it: in any case, in the titles of suites and test joined by spaces.
  return { results, title: new RegExp(argv.testNamePattern ?? "", "i") };
}

/** For all packages in one run. Node loads the tests itself: TypeScript by tsx, packages from their sources. */
function configOf(paths) {
  const { WAYMARK_TEST_INSPECT: isInspecting, WAYMARK_TEST_NIGHTLY: isNightly } = process.env;
  return {
    rootDir: process.cwd(),
    roots: ["<rootDir>/apps", "<rootDir>/packages"],
    testMatch: ["**/{src,web}/**/*.test.ts"],
    modulePathIgnorePatterns: ["/dist/", "/\\.turbo/"],
    injectGlobals: false,
    transform: {},
    runner: here("./runner.mjs"),
    reporters: [here("./reporter.mjs"), ...(paths.length === 1 ? ["default"] : [])],
    // Tests wait for timers, servers and browsers about as long as they compute.
    maxWorkers: 2 * availableParallelism(),
    // Ends hanging tests only, whatever the load. A debugger may pause a test for as long as a timer can wait.
    testTimeout: isInspecting ? 2 ** 31 - 1 : (isNightly ? 10 : 1) * 240_000,
  };
}

/** Failures once more at the end: the output is long. */
function summarize() {
  for (const { failureMessage } of failures) console.log(`\n${failureMessage}`);
  const skipped = tests.filter(({ status }) => status === "pending");
  const suites = new Set(skipped.map((test) => test.ancestorTitles[0] ?? test.title));
  for (const suite of suites) console.log(`skipped: ${suite}`);
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests } = results;
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  console.log(`Tests: ${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped`);
}

async function passesAlone(path) {
  const { success } = (await runJest([path])).results;
  console.log(`${path}: ${success ? "passed only alone; find out why" : "failed alone too"}`);
  return success;
}
