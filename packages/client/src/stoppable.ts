import type { Call, Transport } from "./transport.js";

/** Each call has its own signal, since Node warns of a leak if many listen to one. */
export function createStoppable(inner: Transport, isIdle?: boolean) {
  const running = new Set<AbortController>();
  let stopped: { reason: unknown } | undefined;
  return {
    async transport(call: Call): Promise<unknown> {
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
    stop(reason: unknown): void {
      stopped = { reason };
      for (const own of running) own.abort(reason);
    },
    resume(): void {
      stopped = undefined;
    },
  };
}
