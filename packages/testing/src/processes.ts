import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "@jest/globals";
import { built } from "./built.js";
import { databaseVariables } from "./test-server.js";

const maxFailures = 20;

/** An app of this repository in a process of its own, as deployed. */
export interface RunningApp {
  readonly url: string;
  readonly metricsUrl: string;
  readonly pid: number;
  /** The first errors in its log, as lines of JSON. */
  readonly failures: readonly string[];
  kill(): Promise<void>;
}

/** Starts a built app on free ports; `env` has further settings. */
type StartApp = (
  name: "trace-api" | "analytics-api" | "collector" | "dashboard",
  databaseUrl: string,
  env?: Readonly<Record<string, string>>,
) => Promise<RunningApp>;

export function useProcesses(): StartApp {
  const children: ChildProcess[] = [];
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  afterAll(() => Promise.all(children.map((child) => end(child, "SIGTERM"))));
  return async (name, databaseUrl, env = {}) => {
    const prefix = name.toUpperCase().replace("-", "_");
    const entry = fileURLToPath(built(new URL(`../../../apps/${name}/dist/main.js`, import.meta.url)));
    const database = databaseVariables(name, databaseUrl);
    const settings = { ...database, [`${prefix}_PORT`]: "0", [`${prefix}_METRICS_PORT`]: "0", ...env };
    const child = spawn(process.execPath, [entry], { env: settings, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const failures: string[] = [];
    const { port, metricsPort } = await listening(child, failures);
    return {
      url: `http://127.0.0.1:${port}`,
      metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
      pid: child.pid ?? 0,
      failures,
      kill: () => end(child, "SIGKILL"),
    };
  };
}

/** The app's ports, from its log, whose later lines are read all the same. */
function listening(child: ChildProcess, failures: string[]): Promise<{ port: number; metricsPort: number }> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The app ended with ${code}`)));
    if (!child.stdout) throw new Error("The app has no standard output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line);
      if (said.msg === "listening") resolve(said);
      if (said.level === "error" && failures.length < maxFailures) failures.push(line);
    });
  });
}

interface Instance<App> {
  app: App;
  stop(): Promise<unknown>;
}

/** Gives a test file two instances of an app, as beside a load balancer; they stop after its tests. */
export function useInstances<App>(start: () => Instance<App>): (index: 0 | 1) => App {
  const instances: Instance<App>[] = [];
  beforeAll(() => void instances.push(start(), start()));
  afterAll(() => Promise.all(instances.map((instance) => instance.stop())));
  return (index) => {
    const app = instances[index]?.app;
    if (!app) throw new Error("The app starts in beforeAll");
    return app;
  };
}
