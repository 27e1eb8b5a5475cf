/** The outcome of counting a request. */
export interface Allowance {
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Keys in memory. With more keys in a minute, the oldest one starts its minute anew. */
const maxKeys = 10_000;

interface Window {
  readonly endsAt: number;
  spent: number;
}

/** Counts requests per key in this process. A window begins with its first request. */
export function createMemoryLimiter(points: number, windowMs: number, now: () => number) {
  // In the order of their ends: all windows are equally long, and begin when they enter the map.
  const windows = new Map<string, Window>();

  const open = (key: string): Window => {
    windows.delete(key);
    const [oldest] = windows.keys();
    if (oldest !== undefined && windows.size >= maxKeys) windows.delete(oldest);
    const fresh = { endsAt: now() + windowMs, spent: 0 };
    windows.set(key, fresh);
    return fresh;
  };

  return {
    get size() {
      return windows.size;
    },
    spend(key: string): Allowance {
      const known = windows.get(key);
      const window = known && known.endsAt > now() ? known : open(key);
      const isAllowed = window.spent < points;
      if (isAllowed) window.spent++;
      const resetSeconds = Math.max(1, Math.ceil((window.endsAt - now()) / 1_000));
      return { isAllowed, remaining: points - window.spent, resetSeconds };
    },
    refund(key: string): void {
      const window = windows.get(key);
      if (window && window.spent > 0) window.spent--;
    },
  };
}
