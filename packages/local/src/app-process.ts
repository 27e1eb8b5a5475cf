import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseObject } from "@waymark/cli";
import { deployedFlags } from "./deployed-flags.js";
import { type LogFile, openLogFile } from "./log-file.js";
import { type ProcessIdentity, processStartOf } from "./processes.js";

export interface AppOptions {
  name: string;
  entry: string;
  /** Flags of Node in addition to `deployedFlags`. */
  nodeFlags: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  logFile: string;
  say(line: string): void;
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

type LogLine = Partial<Record<"level" | "msg" | "path" | "to" | "subject" | "reason", string>> & {
  err?: { message?: string };
  heldMs?: number;
  inHand?: readonly string[];
};

/** Longer than the apps' own limit for an orderly stop, 25 seconds. */
const stopTimeoutMs = 28_000;

/**
 * Starts an app in its own process group, so Ctrl-C reaches only this process, and this process decides the order of stopping.
 * The app holds an IPC channel and stops when the channel closes, also after a kill of this process.
 */
export function startApp(options: AppOptions): AppProcess {
  const { name, entry, nodeFlags, env, cwd, logFile, say } = options;
  const log = openLogFile(logFile, (error) => {
    say(`${name}: warn: its log cannot be written, and lines are lost (${error.message})`);
  });
  const child = spawn(process.execPath, [...deployedFlags(name), ...nodeFlags, entry], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let isStopping = false;
  const lastWords: string[] = [];
  const end = waitForExit(child).then((how) => describeEnd(name, how, lastWords, logFile));
  child.once("close", () => log.close());
  const ready = new Promise<number>((resolve, reject) => {
    child.on("message", (message) => {
      const { kind, port } = message as { kind?: unknown; port?: unknown };
      if (kind === "running" && typeof port === "number") resolve(port);
    });
    readLines(child.stdout, log, (line) => {
      const entryLine = parseObject<LogLine>(line);
      const seen = entryLine && describeLine(entryLine);
      if (seen && !isStopping) say(`${name}: ${seen}`);
    });
    readLines(child.stderr, log, (line) => {
      if (lastWords.push(line) > 20) lastWords.shift();
    });
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

function readLines(stream: NodeJS.ReadableStream | null, log: LogFile, onLine: (line: string) => void): void {
  if (!stream) return;
  createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    log.write(line);
    onLine(line);
  });
}

/** The terminal shows mails, warnings and errors; the log has everything. */
function describeLine({
  level,
  msg,
  path,
  to,
  subject,
  reason,
  err,
  heldMs,
  inHand = [],
}: LogLine): string | undefined {
  if (msg === "mail written") {
    const link = path && existsSync(path) && linkIn(readFileSync(path, "utf8"));
    return [`mail to ${to}: ${subject}`, path, link].filter(Boolean).join("\n  ");
  }
  if (level !== "warn" && level !== "error" && level !== "fatal") return undefined;
  const held = heldMs === undefined ? undefined : [`${heldMs} ms`, ...inHand].join(", ");
  const cause = reason ?? err?.message ?? held;
  return `${level}: ${msg}${cause ? ` (${cause})` : ""}`;
}

/** The dashboard's page in a mail, for people without a mail program: quoted-printable breaks it in two. */
export function linkIn(mail: string): string | undefined {
  return /https?:\/\/\S+\/dashboard\/(link|traces)\/[\w-]+/.exec(mail.replaceAll(/=\r?\n/g, ""))?.[0];
}

function describeEnd(name: string, how: string, lastWords: readonly string[], logFile: string): string {
  const said = lastWords.length > 0 ? `\n${lastWords.join("\n")}` : "";
  return `The ${name} ended (${how}).${said}\nIts log: ${logFile}`;
}
