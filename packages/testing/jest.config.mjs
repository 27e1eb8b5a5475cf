import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const { WAYMARK_TEST_INSPECT: isInspecting, WAYMARK_TEST_NIGHTLY: isNightly } = process.env;

/** Load must not fail a test: this ends hanging ones, of five minutes' files. A debugger may pause a test for as long as a timer can wait. */
const testTimeout = isInspecting ? 2 ** 31 - 1 : (isNightly ? 10 : 1) * 240_000;

/** The one jest configuration, for all packages in one run. Node loads the tests itself: TypeScript by tsx, packages from their sources. */
export default {
  roots: ["<rootDir>/apps", "<rootDir>/packages"],
  testMatch: ["**/{src,web}/**/*.test.ts"],
  modulePathIgnorePatterns: ["/dist/", "/\\.turbo/"],
  injectGlobals: false,
  transform: {},
  runner: fileURLToPath(new URL("./bin/runner.mjs", import.meta.url)),
  // Tests wait for timers, servers and browsers about as long as they compute.
  maxWorkers: 2 * availableParallelism(),
  testTimeout,
};
