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
