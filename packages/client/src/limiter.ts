/** Runs work, at most so many pieces at a time; the others wait in order. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** @param maxRunning how many at a time */
export function createLimiter(maxRunning: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
