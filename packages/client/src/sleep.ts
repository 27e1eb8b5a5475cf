/**
 * @param isIdle on Node: the wait alone does not keep the process alive
 * @throws the signal's reason when it aborts
 */
export function sleep(ms: number, signal?: AbortSignal, isIdle = false): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (isIdle && typeof timer === "object") timer.unref();
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
