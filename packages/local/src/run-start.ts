import { MigrationError } from "@waymark/database";
import { AlreadyRunningError } from "./claim.js";
import { help, OptionsError, readOptions } from "./options.js";
import { isRunning, launchersOf } from "./processes.js";
import { runLocalSystem } from "./start.js";

/** How often we look whether the command that started us is still there. */
const launcherCheckMs = 1_000;

/**
 * `pnpm start`: runs until Ctrl-C, SIGTERM, SIGHUP, or until the command that started it is gone; a second Ctrl-C ends it at
 * once. Exit codes: 0 after a stop, 1 when something failed, 2 when it was told something that cannot be.
 */
export async function runStart(node: NodeJS.Process): Promise<void> {
  const stopping = new AbortController();
  const say = (text: string) => void node.stdout.write(`${text}\n`);
  // A terminal that is gone must not keep us from stopping.
  for (const stream of [node.stdout, node.stderr]) stream.on("error", () => undefined);
  const stop = (reason: string) => {
    if (stopping.signal.aborted) return node.exit(1);
    say(`\n${reason} Stopping ...`);
    stopping.abort();
  };
  node.on("SIGINT", () => stop(""));
  node.on("SIGTERM", () => stop(""));
  node.on("SIGHUP", () => stop("The terminal is gone."));
  const launchers = launchersOf(node.pid);
  const check = setInterval(() => {
    if (stopping.signal.aborted || launchers.every(isRunning)) return;
    stop("The command that started this is gone.");
  }, launcherCheckMs);
  try {
    const options = readOptions(node.argv.slice(2), node.env);
    if (options.isHelpWanted) node.stdout.write(help);
    else await runLocalSystem({ options, env: node.env, say, signal: stopping.signal });
    if (stopping.signal.aborted) say("Stopped.");
  } catch (error) {
    node.exitCode = isAdvice(error) ? 2 : 1;
    node.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!isKnown(error) && node.env["LOG_LEVEL"] === "debug") console.error(error);
  } finally {
    clearInterval(check);
  }
  node.exit();
}

function isAdvice(error: unknown): boolean {
  return error instanceof OptionsError || error instanceof AlreadyRunningError;
}

function isKnown(error: unknown): boolean {
  return isAdvice(error) || error instanceof MigrationError;
}
