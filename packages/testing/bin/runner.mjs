// Jest's runner here: as many processes as `maxWorkers`, each of which takes one file after another.
import { fork } from "node:child_process";
import { once } from "node:events";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./test-process.mjs", import.meta.url));
const execArgv = ["--import", import.meta.resolve("tsx"), "--conditions=source"];
if (process.env.WAYMARK_TEST_INSPECT) execArgv.push("--inspect-brk=127.0.0.1:9229");

/** Long where no earlier run left times. By size, Jest's measure, they would come late. */
const longest = [
  "packages/local/src/run-start.test.ts",
  "apps/dashboard/src/pages/every-page.browser.test.ts",
  "apps/worker/src/channels/channels.test.ts",
  "packages/proof/src/isolation/isolation.test.ts",
];
function rankOf({ path, duration }) {
  if (duration !== undefined) return duration > 60_000 ? 2 : duration > 15_000 ? 1 : 0;
  if (longest.some((file) => path.endsWith(file))) return 2;
  return /\.browser\.|service-tests/.test(path) ? 1 : 0;
}

const packageOf = ({ path }) => relative(process.cwd(), path).split(sep, 2).join(sep);

/** Of the package that the process has loaded, which costs seconds, else of one without a process, else any. */
function takeNext(waiting, own, all) {
  const next = waiting.filter((test) => rankOf(test) === rankOf(waiting[0]));
  const isOf = (packages) => (test) => packages.includes(packageOf(test));
  const test = next.find(isOf([own])) ?? next.find((each) => !isOf(all)(each)) ?? next[0];
  if (test) waiting.splice(waiting.indexOf(test), 1);
  return test;
}

/** A file may take as long as Jest gives to three tests, as far as a timer can wait: the machine may be shared by many. */
const fileMs = (testMs) => Math.min(3 * testMs, 2 ** 31 - 1);
/** A file that does not say what it waits for is busy in a loop. */
const sayMs = 2_000;

export default class Runner {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const waiting = tests.toSorted((a, b) => rankOf(b) - rankOf(a));
    const packages = [];
    const take = (index) => takeNext(waiting, packages[index], packages);
    const takeFiles = async (_, index) => {
      let child;
      for (let test = take(index); test && !watcher.isInterrupted(); test = take(index)) {
        packages[index] = packageOf(test);
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
    const limitMs = fileMs(context.config.testTimeout ?? this.globalConfig.testTimeout);
    let reason = "";
    return new Promise((resolve) => {
      const tooLong = setTimeout(() => {
        reason = `The file did not end within ${limitMs / 1_000} s. `;
        child.send("end");
        setTimeout(() => child.kill("SIGKILL"), sayMs).unref();
      }, limitMs);
      const settle = (answer) => {
        clearTimeout(tooLong);
        child.off("message", settle).off("exit", fail);
        resolve(answer);
      };
      const fail = (code, signal) =>
        settle({ error: { message: `${reason}The process ended with ${code ?? signal}`, stack: "" } });
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
