export interface CapacityLimits {
  maxItems: number;
  maxBytes: number;
}

export interface Capacity {
  readonly items: number;
  readonly bytes: number;
  isFull(): boolean;
  /** Never refuses: new records ask `isFull` before, and ends are always accepted. */
  take(items: number, bytes: number): void;
  give(items: number, bytes: number): void;
  /** Resolves after the next `give`. */
  nextRelease(): Promise<void>;
}

export function createCapacity({ maxItems, maxBytes }: CapacityLimits): Capacity {
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
    take(moreItems, moreBytes) {
      items += moreItems;
      bytes += moreBytes;
    },
    give(lessItems, lessBytes) {
      items -= lessItems;
      bytes -= lessBytes;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    nextRelease: () => new Promise((resolve) => waiters.push(resolve)),
  };
}
