// Prints each file as it ends, and the slowest at the end.
import { relative } from "node:path";

const mostSlow = 10;
const timeOf = ({ perfStats, testFilePath }, mark = "") =>
  `${(perfStats.runtime / 1_000).toFixed(1).padStart(6)} s  ${mark}${relative(process.cwd(), testFilePath)}`;

export default class Reporter {
  done = 0;

  onRunStart({ numTotalTestSuites }) {
    this.total = numTotalTestSuites;
  }

  onTestResult(_test, result) {
    // Jest's own reporter lists the tests of a single file.
    if (this.total === 1) return;
    const count = `${++this.done}`.padStart(`${this.total}`.length);
    console.log(`${count} of ${this.total} ${timeOf(result, result.failureMessage ? "FAIL " : "")}`);
    if (result.failureMessage) console.log(result.failureMessage);
  }

  onRunComplete(_contexts, { testResults }) {
    if (this.total <= mostSlow) return;
    console.log("\nThe slowest files:");
    const slowest = testResults.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, mostSlow);
    for (const file of slowest) console.log(timeOf(file));
  }
}
