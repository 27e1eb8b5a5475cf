// Jest's runner here: as many processes as `maxWorkers`, each of which takes one file after another.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./test-process.mjs", import.meta.url));
const execArgv = ["--import", import.meta.resolve("tsx"), "--conditions=source"];
if (process.env.WAYMARK_TEST_INSPECT) execArgv.push("--inspect-brk=127.0.0.1:9229");

/** These start first where no earlier run left times: by size, Jest's measure, they would come late. */
const longest = [
  "apps/worker/src/channels/channels.test.ts",
  "apps/trace-api/src/service-tests/main.test.ts",
  "apps/dashboard/src/pages/every-page.browser.test.ts",
  "packages/cli/src/package.test.ts",
  "apps/dashboard/src/outage.browser.test.ts",
  "apps/worker/src/start-worker.test.ts",
];
const waitsLong = ({ path, duration }) => duration === undefined && longest.some((file) => path.endsWith(file));

export default class Runner {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const waiting = tests.toSorted((a, b) => waitsLong(b) - waitsLong(a));
    const takeFiles = async () => {
      let child;
      for (let test = waiting.shift(); test && !watcher.isInterrupted(); test = waiting.shift()) {
        await onStart(test);
        child ??= fork(program, { execArgv, serialization: "advanced" });
        const { result, error } = await this.run(test, child);
        if (!child.connected) child = undefined;
        await (result ? onResult(test, result) : onFailure(test, error));
      }
      return child ? end(child) : 0;
    };
    const processes = Math.min(this.globalConfig.maxWorkers, tests.length);
    const codes = await Promise.all(Array.from({ length: processes }, takeFiles));
    if (codes.some((code) => code !== 0))
      throw new Error("A process of the tests did not end; it named above what was left open.");
  }

  /** What the process answers, or why it ended without an answer. */
  run({ path, context }, child) {
    return new Promise((resolve) => {
      const settle = (answer) => {
        child.off("message", settle).off("exit", fail);
        resolve(answer);
      };
      const fail = (code, signal) =>
        settle({ error: { message: `The process ended with ${code ?? signal}`, stack: "" } });
      child.on("message", settle).on("exit", fail);
      child.send({ globalConfig: this.globalConfig, config: context.config, path });
    });
  }
}

/** Lets a process without work end; resolves with its exit code. */
async function end(child) {
  child.disconnect();
  const [code] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
  return code;
}
