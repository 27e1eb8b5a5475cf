import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type OutputOptions, openAppOutput } from "./app-output.js";
import { deployedFlags } from "./deployed-flags.js";
import { type ProcessIdentity, processStartOf } from "./processes.js";

export interface AppOptions extends OutputOptions {
  entry: string;
  nodeFlags: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
}

export interface AppProcess {
  readonly name: string;
  readonly identity: ProcessIdentity;
  /** Resolves with the port once the app says by its IPC channel that it runs; rejects with a sentence when it ends before. */
  readonly ready: Promise<number>;
  /** Resolves with a sentence when the app ends by itself. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM, and SIGKILL after 28 s or the given time; resolves at the app's end. */
  stop(timeoutMs?: number): Promise<void>;
}

/** Longer than the apps' own limit for an orderly stop, 25 seconds. */
export const stopTimeoutMs = 28_000;

/**
 * Starts an app in its own process group, so Ctrl-C reaches only this process, and this process decides the order of stopping.
 * The app holds an IPC channel and stops when the channel closes, also after a kill of this process.
 */
export function startApp(options: AppOptions): AppProcess {
  const { name, entry, nodeFlags, env, cwd } = options;
  const output = openAppOutput(options);
  const child = spawn(process.execPath, [...deployedFlags(name), ...nodeFlags, entry], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let isStopping = false;
  const end = waitForExit(child).then((how) => output.describeEnd(how));
  child.once("close", () => output.close());
  const ready = new Promise<number>((resolve, reject) => {
    child.on("message", (message) => {
      const { kind, port } = message as { kind?: unknown; port?: unknown };
      if (kind === "running" && typeof port === "number") resolve(port);
    });
    readLines(child.stdout, output.write);
    readLines(child.stderr, output.writeError);
    end.then((sentence) => reject(new Error(sentence)));
  });
  ready.catch(() => undefined);
  const ended = new Promise<string>((resolve) => {
    end.then((sentence) => {
      if (!isStopping) resolve(sentence);
    });
  });
  const pid = child.pid ?? 0;
  return {
    name,
    identity: { pid, processStart: processStartOf(pid) ?? "" },
    ready,
    ended,
    async stop(timeoutMs = stopTimeoutMs) {
      isStopping = true;
      output.mute();
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      await end;
      clearTimeout(timer);
    },
  };
}

function waitForExit(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
}

function readLines(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  if (stream) createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}
