// Writes the counts of a package's tests, for the closing line of all packages and for a title without tests, and ends a jest that does not end.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** After the last test, how long something may stay open. */
const endMs = 60_000;

export default class CountReporter {
  /** @param {{ testNamePattern?: string, watchAll: boolean }} config jest's own; the pattern is the title of `-t` */
  constructor({ testNamePattern, watchAll }) {
    this.title = testNamePattern;
    this.isWatching = watchAll;
  }

  onRunComplete(_contexts, results) {
    const folder = join(process.cwd(), "test-results");
    const tests = results.testResults.flatMap((file) => file.testResults);
    const skipped = tests.filter((test) => test.status === "pending");
    // As jest matches it: in any case, in the titles of suites and test joined by spaces.
    const title = new RegExp(this.title ?? "", "i");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "counts.json"),
      JSON.stringify({
        passed: results.numPassedTests,
        failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
        skipped: results.numPendingTests,
        failures: results.testResults.flatMap(({ failureMessage }) => failureMessage ?? []),
        failedFiles: results.testResults.filter((file) => file.failureMessage).map((file) => file.testFilePath),
        skippedSuites: [...new Set(skipped.map((test) => test.ancestorTitles[0] ?? test.title))],
        title: this.title,
        withTitle: tests.filter((test) => title.test(test.fullName)).length,
      }),
    );
    if (this.isWatching) return;
    const tooLong = setTimeout(() => {
      console.error(`Tests in ${process.cwd()} left open: ${process.getActiveResourcesInfo().join(", ")}`);
      process.exit(1);
    }, endMs);
    tooLong.unref();
  }
}
