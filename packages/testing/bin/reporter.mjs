// Prints each file as it ends, and the slowest at the end. Writes the counts that `run.mjs` reads.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

const mostSlow = 10;
const secondsOf = ({ perfStats }) => `${(perfStats.runtime / 1_000).toFixed(1).padStart(6)} s`;

export default class Reporter {
  /** @param {{ testNamePattern?: string }} config jest's own; the pattern is the title of `-t` */
  constructor({ testNamePattern = "" }) {
    // As jest matches it: in any case, in the titles of suites and test joined by spaces.
    this.title = new RegExp(testNamePattern, "i");
    this.done = 0;
  }

  onRunStart({ numTotalTestSuites }) {
    this.total = numTotalTestSuites;
  }

  onTestResult({ path }, result) {
    this.done++;
    // Jest's own reporter lists the tests of a single file.
    if (this.total === 1) return;
    const count = `${this.done}`.padStart(`${this.total}`.length);
    const failed = result.failureMessage ? "FAIL " : "";
    console.log(`${count} of ${this.total} ${secondsOf(result)}  ${failed}${relative(process.cwd(), path)}`);
    if (failed) console.log(result.failureMessage);
  }

  onRunComplete(_contexts, results) {
    const files = results.testResults;
    const slowest = files.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, mostSlow);
    if (this.total > mostSlow) {
      console.log("\nThe slowest files:");
      for (const file of slowest) console.log(`${secondsOf(file)}  ${relative(process.cwd(), file.testFilePath)}`);
    }
    const tests = files.flatMap((file) => file.testResults);
    const skipped = tests.filter(({ status }) => status === "pending");
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests,
      failures: files.filter((file) => file.failureMessage).map((file) => [file.testFilePath, file.failureMessage]),
      skippedSuites: [...new Set(skipped.map((test) => test.ancestorTitles[0] ?? test.title))],
      withTitle: tests.filter(({ fullName }) => this.title.test(fullName)).length,
    };
    if (process.env.WAYMARK_TEST_COUNTS) writeFileSync(process.env.WAYMARK_TEST_COUNTS, JSON.stringify(counts));
  }
}
