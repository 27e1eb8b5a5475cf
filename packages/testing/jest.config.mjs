import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { limitsOf } from "./bin/limits.mjs";

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
  testTimeout: limitsOf().testMs,
};
