import type { Transport } from "./transport.js";

/** A transport whose calls can all be ended. */
export interface Stoppable {
  transport: Transport;
  /** Lets the calls under way and all later ones reject with the reason. */
  stop(reason: unknown): void;
}

/** Gives each call a signal of its own, since Node warns of a leak when many listen to one. */
export function createStoppable(inner: Transport): Stoppable {
  const running = new Set<AbortController>();
  let stopped: { reason: unknown } | undefined;
  return {
    async transport(call) {
      if (stopped) throw stopped.reason;
      const own = new AbortController();
      running.add(own);
      try {
        return await inner({ ...call, signal: own.signal });
      } finally {
        running.delete(own);
      }
    },
    stop(reason) {
      stopped = { reason };
      for (const own of running) own.abort(reason);
    },
  };
}
