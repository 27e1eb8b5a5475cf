import type { Logger } from "pino";

const tickMs = 50;
/** From here on clients notice. */
const maxHeldMs = 250;

/**
 * Warns in the log when the event loop was held for longer than 250 ms, with the work in hand meanwhile. The histogram of its
 * delays, `nodejs_eventloop_lag_*`, is in every registry.
 * @param inHand names work under way, or ended since a moment of `performance.now()`
 */
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
