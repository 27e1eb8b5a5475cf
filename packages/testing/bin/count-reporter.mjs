// Writes how many tests passed, failed and were skipped, and the names of skipped suites, for the closing line of all packages.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export default class CountReporter {
  onRunComplete(_contexts, results) {
    const folder = join(process.cwd(), "test-results");
    const skipped = results.testResults.flatMap((file) =>
      file.testResults.filter((test) => test.status === "pending").map((test) => test.ancestorTitles[0] ?? test.title),
    );
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "counts.json"),
      JSON.stringify({
        passed: results.numPassedTests,
        failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
        skipped: results.numPendingTests,
        skippedSuites: [...new Set(skipped)],
      }),
    );
  }
}
