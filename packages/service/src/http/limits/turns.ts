import { setImmediate as untilNextRound } from "node:timers/promises";

/** Resolves when the owner has a turn. */
export type Turn = (owner: string) => Promise<void>;

/**
 * Gives turns to work that blocks the event loop, such as parsing a large body: one turn in each round of the loop, so that
 * small requests run in between, and to owners in rotation. The number of requests in progress bounds the queue.
 */
export function createTurns(): Turn {
  const waiting = new Map<string, (() => void)[]>();
  const next = () => {
    for (const [owner, others] of waiting) {
      const [go, ...rest] = others;
      // The owner's next turn comes after those of all other owners.
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

/** Lets other work run between the steps of a generator. */
export async function inSteps<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await untilNextRound();
  }
}
