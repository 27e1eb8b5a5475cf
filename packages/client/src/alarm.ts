/** A timer this late was dropped by its runtime, or the event loop was held. */
const graceMs = 1_000;

/** One timer that rings at the earliest time asked for, and does not keep a Node process alive. */
export function createAlarm(ring: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let atMs = Number.POSITIVE_INFINITY;
  return {
    /** @param wantedMs by `performance.now()` */
    at(wantedMs: number): void {
      const now = performance.now();
      const isDropped = atMs < now - graceMs;
      if (wantedMs >= atMs && !isDropped) return;
      atMs = isDropped ? now : wantedMs;
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          atMs = Number.POSITIVE_INFINITY;
          ring();
        },
        Math.max(0, atMs - now),
      );
      if (typeof timer === "object") timer.unref();
    },
  };
}
