import { EventEmitter } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ProcessLike } from "@waymark/service";
import { type OutputOptions, openAppOutput } from "./app-output.js";
import { type AppProcess, stopTimeoutMs } from "./app-process.js";
import { processStartOf } from "./processes.js";
import { type AppName, apps } from "./settings.js";

type Run = (node: ProcessLike) => Promise<void>;

export async function loadRuns(root: string): Promise<Record<AppName, Run>> {
  const load = async (app: AppName) => {
    const { run } = (await import(pathToFileURL(join(root, "apps", app, "dist/run.js")).href)) as { run: Run };
    return [app, run] as const;
  };
  return Object.fromEntries(await Promise.all(apps.map(load))) as Record<AppName, Run>;
}

/** Runs an app in this process. It gets an environment, a log, signals and an end of its own. */
export function runInProcess(
  options: OutputOptions & { run: Run; env: NodeJS.ProcessEnv; furtherPort: number },
): AppProcess {
  const { name, run, env, furtherPort } = options;
  const output = openAppOutput(options);
  const signals = new EventEmitter();
  const end = new EventEmitter();
  let hasEnded = false;
  let isStopping = false;
  const exit = new Promise<string>((resolve) => end.once("exit", resolve)).then((how) => {
    hasEnded = true;
    output.close();
    return output.describeEnd(how);
  });
  const ready = new Promise<number>((resolve, reject) => {
    const node: ProcessLike = {
      env,
      furtherPort,
      connected: true,
      stderr: { write: (text) => text.trimEnd().split("\n").forEach(output.writeError) },
      log: { write: (line) => output.write(line.trimEnd()) },
      // An error that nothing caught is the whole process's: nobody knows whose it was.
      on: (event, listener) => event !== "uncaughtException" && signals.on(event, () => listener()),
      exit: (code) => end.emit("exit", `exit code ${code}`),
      send: (message) => resolve((message as { port: number }).port),
    };
    exit.then((sentence) => reject(new Error(sentence)));
    run(node).catch((error: Error) => {
      output.writeError(error.stack ?? error.message);
      node.exit(1);
    });
  });
  ready.catch(() => undefined);
  return {
    name,
    identity: { pid: process.pid, processStart: processStartOf(process.pid) ?? "" },
    ready,
    ended: new Promise((resolve) => {
      exit.then((sentence) => {
        if (!isStopping) resolve(sentence);
      });
    }),
    async stop(timeoutMs = stopTimeoutMs) {
      isStopping = true;
      output.mute();
      if (hasEnded) return;
      signals.emit("SIGTERM");
      const timer = setTimeout(() => end.emit("exit", "no end in time"), timeoutMs);
      await exit;
      clearTimeout(timer);
    },
  };
}
