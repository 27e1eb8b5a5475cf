import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { deployedFlags } from "@waymark/local/deployed-flags";
import { built, databaseVariables } from "@waymark/testing";

/** The deployed service, as its own process. */
export interface ServiceProcess {
  readonly port: number;
  readonly metricsPort: number;
  readonly pid: number;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

export interface ServiceOptions {
  databaseUrl: string;
  redisUrl?: string | undefined;
  /** Further variables of its environment. */
  env?: Readonly<Record<string, string>>;
  /** Flags of Node, such as `--cpu-prof`. */
  nodeFlags?: readonly string[];
}

/** Starts the compiled service on free ports and waits until it listens. */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const entry = fileURLToPath(built(new URL("../dist/main.js", import.meta.url)));
  const child = spawn(process.execPath, [...deployedFlags("trace-api"), ...(options.nodeFlags ?? []), entry], {
    env: {
      ...databaseVariables("trace-api", options.databaseUrl),
      ...(options.redisUrl && { REDIS_URL: options.redisUrl }),
      TRACE_API_PORT: "0",
      TRACE_API_METRICS_PORT: "0",
      OTLP_GRPC_PORT: "0",
      ...options.env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code ?? -1));
  });
  const { port, metricsPort } = await Promise.race([
    untilListening(child),
    ended.then((how) => {
      throw new Error(`The service ended before it listened: ${how}`);
    }),
  ]);
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return { port, metricsPort, pid: child.pid ?? 0, ended, end };
}

/** Reads the log up to the line with the ports and discards the rest. */
function untilListening(child: ChildProcess): Promise<{ port: number; metricsPort: number }> {
  return new Promise((resolve) => {
    if (!child.stdout) return;
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      const entry: { msg?: string; port?: number; metricsPort?: number } = JSON.parse(line);
      if (entry.msg !== "listening") return;
      lines.close();
      child.stdout?.resume();
      resolve({ port: entry.port ?? 0, metricsPort: entry.metricsPort ?? 0 });
    });
  });
}
