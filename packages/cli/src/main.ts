import { Resolver } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { runCommandLine } from "./program.js";

const packageFile = readFileSync(new URL("../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(packageFile) as { version: string };

for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreClosedPipe);
const code = await runCommandLine(
  {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    catchInterrupts,
    now: () => new Date(),
    createResolver: (options) => new Resolver(options),
  },
  process.argv.slice(2),
  version,
);
process.exit(code);

/** Short commands do without this call: a signal ends them at once. */
function catchInterrupts(): AbortSignal {
  const stop = new AbortController();
  const interrupt = (signal: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
    stop.abort();
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  return stop.signal;
}

/** `waymark account list | head -1`: the reader has left. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
}
