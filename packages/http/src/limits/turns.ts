/** Waits until it is the owner's turn. */
export type Turn = (owner: string) => Promise<void>;

/**
 * Gives turns to work that keeps the event loop busy, such as parsing a large body: one for each round of the loop, so that
 * small requests come in between, and owners one after the other. Whoever waits is a request in hand, so that few do.
 */
export function createTurns(): Turn {
  const waiting = new Map<string, (() => void)[]>();
  const next = () => {
    for (const [owner, others] of waiting) {
      const [go, ...rest] = others;
      // Its next work comes after that of all other owners.
      waiting.delete(owner);
      if (rest.length > 0) waiting.set(owner, rest);
      if (waiting.size > 0) setImmediate(next);
      go?.();
      return;
    }
  };
  return (owner) =>
    new Promise((resolve) => {
      if (waiting.size === 0) setImmediate(next);
      const own = waiting.get(owner);
      if (own) own.push(resolve);
      else waiting.set(owner, [resolve]);
    });
}
