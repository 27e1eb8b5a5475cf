import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { limitsOf } from "./bin/limits.mjs";

const require = createRequire(import.meta.url);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The one jest configuration: TypeScript by swc, ES modules, workspace packages from their sources. */
export default {
  testEnvironment: "node",
  testMatch: ["<rootDir>/{src,web}/**/*.test.ts"],
  passWithNoTests: true,
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": [
      require.resolve("@swc/jest"),
      {
        jsc: { parser: { syntax: "typescript" }, target: "es2022" },
        module: { type: "es6" },
        sourceMaps: "inline",
      },
    ],
  },
  moduleNameMapper: {
    "^(\\.{1,2}/.*)\\.js$": "$1",
    // Its condition `source` leads to TypeScript.
    "^eventsource-parser$": here("../../node_modules/.pnpm/node_modules/eventsource-parser/dist/index.cjs"),
    "^eventsource-parser/stream$": here("../../node_modules/.pnpm/node_modules/eventsource-parser/dist/stream.cjs"),
  },
  // `import` must stay out: with it jest loads the ES builds of its own dependencies and fails.
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  setupFiles: [here("./bin/refuse-network.mjs")],
  reporters: ["default", here("./bin/count-reporter.mjs")],
  testTimeout: limitsOf().testMs,
};
