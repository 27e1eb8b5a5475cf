/** Runs work with a bounded concurrency, in the order of calls. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

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
