import type { DestinationStream, Logger } from "pino";
import { ConfigError } from "./env.js";
import { ListenError } from "./listen.js";

const tickMs = 50;
/** From here on clients notice. */
const maxHeldMs = 250;

/** Warns when the event loop was held for longer than 250 ms, with the work in hand meanwhile. */
export function watchEventLoop(
  log: Logger,
  inHand: (since: number) => readonly string[],
  now = () => performance.now(),
): void {
  let last = now();
  const tick = () => {
    const [since, at] = [last, now()];
    last = at;
    const heldMs = Math.round(at - since - tickMs);
    if (heldMs > maxHeldMs) log.warn({ heldMs, inHand: inHand(since) }, "the event loop was held");
  };
  setInterval(tick, tickMs).unref();
}

export interface Running {
  /** The port of a client or, without one, of an operator; told to the parent, whatever the log's level. */
  readonly port?: number;
  stop(): Promise<void>;
  /** Names the work under way, or ended since a moment of `performance.now()`, for the log. */
  inHand?(since: number): readonly string[];
}

/** A process of several ended at its start, with its reason on standard error or in its log. */
export class StartFailure extends Error {
  override name = "StartFailure";

  constructor(readonly code: number) {
    super(`A process ended at its start with ${code}`);
  }
}

/** The parts of Node's `process` in use here. `main.ts` passes it; where apps share a process, each has one of its own. */
export interface ProcessLike {
  readonly env: NodeJS.ProcessEnv;
  readonly stderr: { write(text: string): unknown };
  readonly connected?: boolean;
  /** Where the log goes in place of standard output. */
  readonly log?: DestinationStream;
  /** A further port for an HTTP service, beside its own. */
  readonly furtherPort?: number;
  on(event: string, listener: (...args: never[]) => void): unknown;
  exit(code: number): void;
  send?(message: object): unknown;
}

/** After a signal, how long an orderly stop may take before the process ends anyway. */
const stopTimeoutMs = 25_000;

/** Enough for the last lines of the log, if anybody reads them. */
const flushTimeoutMs = 1_000;

/**
 * Runs a long-lived process: starts it, stops it in order on SIGTERM, SIGINT, or when the parent with its IPC channel asks for it
 * or is gone, and ends at once on a second signal. Exit codes: 0 after an orderly stop, 1 after a failure, 2 for a wrong
 * configuration.
 */
export async function runProcess(node: ProcessLike, log: Logger, start: () => Promise<Running>): Promise<void> {
  let running: Running | undefined;
  let stopping = false;
  const stop = async (reason: string, code: number) => {
    if (stopping) return node.exit(code || 1);
    stopping = true;
    log.info({ reason }, "stopping");
    setTimeout(() => node.exit(1), stopTimeoutMs).unref();
    try {
      await running?.stop();
      log.info("stopped");
      return end(node, log, code);
    } catch (error) {
      log.error({ err: error }, "could not stop in order");
      return end(node, log, 1);
    }
  };
  node.on("SIGTERM", () => void stop("SIGTERM", 0));
  node.on("SIGINT", () => void stop("SIGINT", 0));
  if (node.connected) {
    node.on("disconnect", () => {
      if (!stopping) void stop("parent gone", 0);
    });
    node.on("message", (message: unknown) => {
      if (isStop(message) && !stopping) void stop("asked by the primary", 0);
    });
  }
  node.on("uncaughtException", (error: Error) => {
    log.fatal({ err: error }, "uncaught exception");
    void stop("uncaught exception", 1);
  });
  try {
    running = await start();
    watchEventLoop(log, (since) => running?.inHand?.(since) ?? []);
    if (node.connected && running.port !== undefined) node.send?.({ kind: "running", port: running.port });
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ListenError) {
      node.stderr.write(`${error.message}\n`);
      return end(node, log, error instanceof ConfigError ? 2 : 1);
    }
    if (error instanceof StartFailure) return end(node, log, error.code);
    log.fatal({ err: error }, "could not start");
    return end(node, log, 1);
  }
}

function isStop(message: unknown): boolean {
  return (message as { kind?: unknown } | null)?.kind === "stop";
}

function end(node: ProcessLike, log: Logger, code: number): void {
  const timer = setTimeout(() => node.exit(code), flushTimeoutMs);
  log.flush(() => {
    clearTimeout(timer);
    node.exit(code);
  });
}
