import { describe, expect, it } from "@jest/globals";
import type { AppProcess } from "./app-process.js";
import { keepRunning } from "./keep-running.js";

function deferred<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** An app whose processes end when the test says so, and time that passes in pauses alone. */
function fakeApp() {
  const processes: { end(how: string): void; listen(): void; fail(): void; isStopped: boolean }[] = [];
  const said: string[] = [];
  const pauses: number[] = [];
  const clock = { ms: 0 };
  const restarted: number[] = [];
  const start = (): AppProcess => {
    const ready = deferred<number>();
    const ended = deferred<string>();
    ready.promise.catch(() => undefined);
    const process = {
      end: ended.resolve,
      listen: () => ready.resolve(80),
      fail: () => ready.reject(new Error("no port")),
      isStopped: false,
    };
    processes.push(process);
    return {
      name: "app",
      identity: { pid: processes.length, processStart: "" },
      ready: ready.promise,
      ended: ended.promise,
      async stop() {
        process.isStopped = true;
      },
    };
  };
  const app = keepRunning({
    start,
    say: (line) => said.push(line),
    onRestart: async () => void restarted.push(app.identity.pid),
    pause: async (ms, signal) => {
      if (!signal.aborted) pauses.push(ms);
      clock.ms += ms;
    },
    now: () => clock.ms,
  });
  const crash = async () => {
    const count = processes.length;
    processes.at(-1)?.end("The app ended (signal SIGKILL).");
    while (processes.length === count) await new Promise(setImmediate);
    processes.at(-1)?.listen();
    await new Promise(setImmediate);
  };
  return { app, processes, said, pauses, clock, restarted, crash };
}

describe("keepRunning", () => {
  it("starts an app again, with longer pauses while it keeps ending", async () => {
    const { processes, said, pauses, clock, restarted, crash } = fakeApp();
    processes[0]?.listen();
    for (let count = 0; count < 7; count += 1) await crash();
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30].map((seconds) => seconds * 1_000));
    expect(restarted).toEqual([2, 3, 4, 5, 6, 7, 8]);
    expect(said.slice(0, 2)).toEqual([
      "The app ended (signal SIGKILL).\napp: starts again in 1 s; the other apps keep running.",
      "app: runs again.",
    ]);
    clock.ms += 60_000;
    await crash();
    expect(pauses.at(-1)).toBe(1_000);
  });

  it("leaves an app that ends before it was ready to its caller", async () => {
    const { app, processes } = fakeApp();
    processes[0]?.fail();
    processes[0]?.end("The app ended (exit code 1).");
    expect(await app.ended).toBe("The app ended (exit code 1).");
    expect(processes).toHaveLength(1);
  });

  it("starts nothing after a stop, and stops the newest process", async () => {
    const { app, processes, crash } = fakeApp();
    processes[0]?.listen();
    await crash();
    await app.stop();
    expect(processes.map((it) => it.isStopped)).toEqual([false, true]);
    processes[1]?.end("The app ended (exit code 0).");
    await new Promise(setImmediate);
    expect(processes).toHaveLength(2);
  });
});
