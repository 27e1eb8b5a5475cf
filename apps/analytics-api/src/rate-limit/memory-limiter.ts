/** What a request may still do in its window. */
export interface Allowance {
  readonly isAllowed: boolean;
  /** Requests left in the window. */
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Keys counted at most; more than 10,000 within a minute, and the first of them start their minute anew. */
const maxKeys = 10_000;

interface Window {
  readonly endsAt: number;
  spent: number;
}

/** Counts each key's requests in windows that begin with the first of them, for this process alone. */
export function createMemoryLimiter(points: number, windowMs: number, now: () => number) {
  // In the order of their ends, since all are equally long and begin when they are put in.
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
    /** Keys that are remembered. */
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
  };
}
