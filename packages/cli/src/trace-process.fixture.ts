import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

/** The built trace API as a process of its own. */
export interface TraceProcess {
  readonly url: string;
  /** Ends it at once. */
  kill(): Promise<void>;
}

/** Lets a test file start trace APIs; those that still run are stopped after its tests. */
export function useTraceApi(): (databaseUrl: string, port?: number) => Promise<TraceProcess> {
  const children: ChildProcess[] = [];
  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  afterAll(() => Promise.all(children.map(kill)));
  return async (databaseUrl, port = 0) => {
    const entry = fileURLToPath(new URL("../../../apps/trace-api/dist/main.js", import.meta.url));
    const env = { DATABASE_URL: databaseUrl, TRACE_API_PORT: String(port), TRACE_API_METRICS_PORT: "0" };
    const child = spawn(process.execPath, [entry], { env, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    return { url: `http://127.0.0.1:${await listening(child)}`, kill: () => kill(child) };
  };
}

/** The port that it says it listens on; what it says after that is read and left. */
function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The trace API ended with ${code}`)));
    if (!child.stdout) throw new Error("The trace API has no standard output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as { msg?: string; port?: number };
      if (said.msg === "listening") resolve(said.port ?? 0);
    });
  });
}
