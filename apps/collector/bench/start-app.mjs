// Starts one of the apps as a process of its own, as production runs it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Resolves once the app listens, with its port and process id. */
export async function startApp({ entry, env, flags = [] }) {
  const child = spawn(process.execPath, [...flags, entry], {
    env: { ...process.env, LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line);
      if (said.msg === "listening") resolve(said.port);
    });
    child.once("exit", (code) => reject(new Error(`${entry} ended with ${code}`)));
  });
  return {
    port,
    pid: child.pid,
    async stop() {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}
