/** How much may wait to be sent. */
export interface BudgetLimits {
  maxItems: number;
  maxBytes: number;
}

/** Counts what waits. */
export interface Budget {
  readonly items: number;
  readonly bytes: number;
  isFull(): boolean;
  /** Never refuses: whoever opens something new asks `isFull` before, and ends are taken always. */
  take(items: number, bytes: number): void;
  give(items: number, bytes: number): void;
  /** Resolves when something was given back; then ask again. */
  change(): Promise<void>;
}

/** A budget of which nothing is taken yet. */
export function createBudget({ maxItems, maxBytes }: BudgetLimits): Budget {
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
    change: () => new Promise((resolve) => waiters.push(resolve)),
  };
}
