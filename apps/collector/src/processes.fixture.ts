import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

/** An app of this repository in a process of its own, as deployed. */
export interface RunningApp {
  readonly url: string;
  readonly metricsUrl: string;
  readonly pid: number;
}

export type StartApp = (name: "collector" | "analytics-api", databaseUrl: string) => Promise<RunningApp>;

/** Lets a test file start built apps on free ports; they stop after its tests. */
export function useProcesses(): StartApp {
  const children: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });
  return async (name, databaseUrl) => {
    const prefix = name.toUpperCase().replace("-", "_");
    const entry = fileURLToPath(new URL(`../../${name}/dist/main.js`, import.meta.url));
    const env = { DATABASE_URL: databaseUrl, [`${prefix}_PORT`]: "0", [`${prefix}_METRICS_PORT`]: "0" };
    // Tests send from one address.
    if (name === "collector") Object.assign(env, { COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0" });
    const child = spawn(process.execPath, [entry], { env, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const { port, metricsPort } = await listening(child);
    return {
      url: `http://127.0.0.1:${port}`,
      metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
      pid: child.pid ?? 0,
    };
  };
}

/** The app's ports, from its log; later lines are read and ignored. */
function listening(child: ChildProcess): Promise<{ port: number; metricsPort: number }> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The app ended with ${code}`)));
    if (!child.stdout) throw new Error("The app has no standard output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line);
      if (said.msg === "listening") resolve(said);
    });
  });
}
