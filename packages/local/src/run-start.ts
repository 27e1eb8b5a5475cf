import { CommandError, dataFolderOf } from "@waymark/cli";
import { MigrationError } from "@waymark/database";
import { AlreadyRunningError, findRunning } from "./claim.js";
import { help, readOptions } from "./options.js";
import { isRunning, launchersOf } from "./processes.js";
import { OptionsError } from "./settings.js";
import { runLocalSystem } from "./start.js";

const launcherCheckMs = 1_000;

/**
 * `pnpm start`: runs until Ctrl-C, SIGTERM, SIGHUP or the end of the command above it; a second Ctrl-C ends it at once.
 * Exit codes: 0 after a stop, 1 after a failure, 2 for wrong arguments or variables or a second start on the same data, 3 if
 * `--running` finds a running system.
 */
export async function runStart(node: NodeJS.Process): Promise<void> {
  const stopping = new AbortController();
  const say = (text: string) => void node.stdout.write(`${text}\n`);
  // A closed terminal must not prevent an orderly stop.
  for (const stream of [node.stdout, node.stderr]) stream.on("error", () => undefined);
  const stop = (reason: string) => {
    if (stopping.signal.aborted) return node.exit(1);
    say(`\n${reason} Stopping ...`);
    stopping.abort();
  };
  node.on("SIGINT", () => stop(""));
  node.on("SIGTERM", () => stop(""));
  node.on("SIGHUP", () => stop("The terminal is gone."));
  // The apps of this process stop in order first, then its end names the cause.
  const crashed = new Promise<never>((_, reject) => {
    node.on("uncaughtException", (error) => {
      reject(new Error(`An error that nothing caught ended Waymark.\n${error.stack}`, { cause: error }));
    });
  });
  crashed.catch(() => undefined);
  const launchers = launchersOf(node.pid);
  const check = setInterval(() => {
    if (stopping.signal.aborted || launchers.every(isRunning)) return;
    stop("The command that started this is gone.");
  }, launcherCheckMs);
  try {
    const options = readOptions(node.argv.slice(2));
    if (options.isHelpWanted) node.stdout.write(help);
    else if (options.isCheckWanted) node.exitCode = await reportRunning(node);
    else await runLocalSystem({ options, env: node.env, say, signal: stopping.signal, crashed });
    if (stopping.signal.aborted) say("Stopped.");
  } catch (error) {
    node.exitCode = isAdvice(error) ? 2 : 1;
    node.stderr.write(`${describeFailure(error)}\n`);
    if (!isKnown(error) && node.env["LOG_LEVEL"] === "debug") console.error(error);
  } finally {
    clearInterval(check);
  }
  node.exit();
}

async function reportRunning(node: NodeJS.Process): Promise<number> {
  const running = await findRunning(dataFolderOf(node.env));
  if (running) node.stderr.write(`${running}\n`);
  return running ? 3 : 0;
}

function isAdvice(error: unknown): boolean {
  return error instanceof OptionsError || error instanceof AlreadyRunningError;
}

function isKnown(error: unknown): boolean {
  return isAdvice(error) || error instanceof MigrationError || error instanceof CommandError;
}

/** The sentence for a failure of `start`: advice for a full disk, else the error's own message. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (isDiskFull(error)) return `There is no space left on the disk. Make some, then start again. (${message})`;
  return message;
}

/** SQLSTATE 53100 is Postgres's `disk_full`; its programs print the words. */
function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "ENOSPC" || code === "53100" || /no space left on device/i.test(message ?? "");
}
