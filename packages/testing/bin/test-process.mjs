// Runs the test files that its parent names, one after another, by jest-circus. Node's own module registry loads each
// module once for all of them; Jest's would load it again for each file.
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";
import circus from "jest-circus/runner";
import { expect, setGlobals } from "./jest-globals.mjs";
import "./refuse-network.mjs";

/** After the last test, how long something may stay open. */
const endMs = 60_000;

register("./resolve-globals.mjs", import.meta.url);
const require = createRequire(import.meta.url);

/** What jest-circus asks of Jest's module system. */
const runtime = {
  // Its state belongs to one file.
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for("EVENT_HANDLERS")];
    return require(path);
  },
  requireModule: require,
  setGlobalsForRuntime: setGlobals,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path) => import(pathToFileURL(path).href),
  enterTestCode() {},
  leaveTestCode() {},
};

process.on("message", (message) => (message === "end" ? endHung() : run(message)));

async function run({ globalConfig, config, path }) {
  const start = Date.now();
  try {
    const result = await circus.default(globalConfig, config, { global: globalThis }, runtime, path);
    // They may hold what cannot be sent; the messages stay.
    for (const test of result.testResults) test.failureDetails = [];
    const end = Date.now();
    const perfStats = { ...result.perfStats, start, end, runtime: end - start };
    answer({ result: { ...result, perfStats, testFilePath: path } });
  } catch (error) {
    answer({ error: { message: `${error}`, stack: error?.stack } });
  }
}

/** Says what a file that takes too long waits for. */
function endHung() {
  const test = expect?.getState().currentTestName ?? "Outside of tests";
  console.error(`Not ended: ${test}. Open: ${process.getActiveResourcesInfo().join(", ")}`);
  process.kill(process.pid, "SIGKILL");
}

/** An ended run wants no answer. */
function answer(said) {
  if (process.connected) process.send(said);
}

process.on("disconnect", () => {
  const tooLong = setTimeout(() => {
    console.error(`Tests left open: ${process.getActiveResourcesInfo().join(", ")}`);
    process.exit(1);
  }, endMs);
  tooLong.unref();
});
