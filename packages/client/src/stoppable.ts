import type { Transport } from "./transport.js";

/** A transport whose calls can all be ended. */
export interface Stoppable {
  transport: Transport;
  /** Lets the calls under way and all later ones reject with the reason. */
  stop(reason: unknown): void;
  /** Lets later calls through again. */
  resume(): void;
}

/**
 * Gives each call a signal of its own, since Node warns of a leak when many listen to one.
 * @param isIdle see `Call`
 */
export function createStoppable(inner: Transport, isIdle?: boolean): Stoppable {
  const running = new Set<AbortController>();
  let stopped: { reason: unknown } | undefined;
  return {
    async transport(call) {
      if (stopped) throw stopped.reason;
      const own = new AbortController();
      const onAbort = () => own.abort(call.signal?.reason);
      call.signal?.addEventListener("abort", onAbort);
      running.add(own);
      try {
        return await inner({ ...call, signal: own.signal, ...(isIdle !== undefined && { isIdle }) });
      } finally {
        running.delete(own);
        call.signal?.removeEventListener("abort", onAbort);
      }
    },
    stop(reason) {
      stopped = { reason };
      for (const own of running) own.abort(reason);
    },
    resume() {
      stopped = undefined;
    },
  };
}
