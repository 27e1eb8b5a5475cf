import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The request of an account that is not the attacker's, to a service in a process of its own. */
interface WatchedRequest {
  url: string;
  headers?: Readonly<Record<string, string>>;
  pid: number;
}

interface Outcome {
  asked: number;
  longestMs: number;
  /** How much longer than any control request of the same moment, and than the service waited for a processor. */
  excessMs: number;
  /** Statuses or errors other than success. */
  failed: (number | string)[];
}

/** An account may wait so much longer beside an attack. */
const maxExcessMs = 500;

/**
 * Runs an attack while a watcher account sends a small GET again and again, from another process.
 * @returns the attack's result
 * @throws Error if the watcher once waited 500 ms longer than a request to a trivial server, or got another answer than success
 */
export async function watched<Result>(request: WatchedRequest, attack: () => Promise<Result>): Promise<Result> {
  const program = fileURLToPath(new URL("../bin/watcher.mjs", import.meta.url));
  // Not Jest's flags, such as a debugger's port.
  const child = fork(program, [JSON.stringify(request)], { execArgv: [] });
  try {
    await once(child, "message");
    const result = await attack();
    child.send("stop");
    const [outcome] = (await once(child, "message")) as [Outcome];
    judge(outcome);
    return result;
  } finally {
    child.kill("SIGKILL");
  }
}

function judge({ asked, longestMs, excessMs, failed }: Outcome): void {
  const waits = `Of ${asked} requests of the watcher the longest took ${Math.round(longestMs)} ms`;
  if (failed.length > 0) throw new Error(`${waits}; some failed: ${failed.join(", ")}`);
  if (excessMs > maxExcessMs) throw new Error(`${waits}, ${Math.round(excessMs)} ms longer than the control`);
}
