interface CapacityLimits {
  maxItems: number;
  maxBytes: number;
}

export type Capacity = ReturnType<typeof createCapacity>;

export function createCapacity({ maxItems, maxBytes }: CapacityLimits) {
  let [items, bytes] = [0, 0];
  let waiters: (() => void)[] = [];
  return {
    get items() {
      return items;
    },
    get bytes() {
      return bytes;
    },
    isFull: () => items >= maxItems || bytes >= maxBytes,
    /** Never refuses: new records ask `isFull` before, and ends are always accepted. */
    take(moreItems: number, moreBytes: number): void {
      items += moreItems;
      bytes += moreBytes;
    },
    give(lessItems: number, lessBytes: number): void {
      items -= lessItems;
      bytes -= lessBytes;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    nextRelease: () => new Promise<void>((resolve) => waiters.push(resolve)),
  };
}

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
