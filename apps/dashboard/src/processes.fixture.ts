import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

/** Lets a test file start the built APIs and the collector on free ports, as deployed; they stop after its tests. */
export function useProcesses() {
  const children: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });
  /** @returns the app's address */
  return async (name: "trace-api" | "collector", databaseUrl: string): Promise<string> => {
    const prefix = name.toUpperCase().replace("-", "_");
    const entry = fileURLToPath(new URL(`../../${name}/dist/main.js`, import.meta.url));
    const env = { DATABASE_URL: databaseUrl, [`${prefix}_PORT`]: "0", [`${prefix}_METRICS_PORT`]: "0" };
    const child = spawn(process.execPath, [entry], { env, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    return `http://127.0.0.1:${await listening(child)}`;
  };
}

/** The app's port, from its log; later lines are read and ignored. */
function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The app ended with ${code}`)));
    if (!child.stdout) throw new Error("The app has no standard output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line);
      if (said.msg === "listening") resolve(said.port);
    });
  });
}
