import { LRUCache } from "lru-cache";
import type { Siblings } from "../../process/index.js";

interface Bucket {
  tokens: number;
  countedAt: number;
}

interface TokenBucketsOptions {
  /** The other processes of the service: what they take is missing here, too. `name` distinguishes buckets. */
  siblings?: Pick<Siblings, "spend"> | undefined;
  name: string;
  /** Tokens of a key a second; 0 for no limit. */
  perSecond: number;
  /** Seconds of unused tokens in a bucket at most. */
  burstSeconds: number;
  /** Keys in memory, at some 200 bytes each. Beyond, the key used longest ago starts anew with a full bucket. */
  maxKeys: number;
  /** Milliseconds from any point on. */
  clock(): number;
}

/** A bucket of tokens per key, full at first, in the memory of this process and its siblings. */
export function createTokenBuckets(options: TokenBucketsOptions) {
  const { perSecond, burstSeconds, maxKeys, clock, siblings, name } = options;
  const buckets = new LRUCache<string, Bucket>({ max: maxKeys });
  const burst = perSecond * burstSeconds;

  function refill(key: string): Bucket {
    const now = clock();
    const known = buckets.get(key);
    if (!known) {
      const full = { tokens: burst, countedAt: now };
      buckets.set(key, full);
      return full;
    }
    known.tokens = Math.min(burst, known.tokens + ((now - known.countedAt) / 1_000) * perSecond);
    known.countedAt = now;
    return known;
  }

  const tell = siblings?.spend(name, (key, tokens) => {
    if (perSecond > 0) refill(key).tokens -= tokens;
  });

  return {
    get size() {
      return buckets.size;
    },
    /** Takes tokens. With too few it takes none and returns the seconds until there are enough, at least 1. */
    take(key: string, tokens: number): { retryAfterSeconds: number } | undefined {
      if (perSecond === 0) return undefined;
      const bucket = refill(key);
      // A full bucket pays for more than it holds, and is then below zero.
      const missing = Math.min(tokens, burst) - bucket.tokens;
      if (missing > 0) return { retryAfterSeconds: Math.max(1, Math.ceil(missing / perSecond)) };
      bucket.tokens -= tokens;
      tell?.(key, tokens);
      return undefined;
    },
    /** Takes tokens for work already done; the bucket may go below zero. */
    charge(key: string, tokens: number): void {
      if (perSecond === 0 || tokens <= 0) return;
      refill(key).tokens -= tokens;
      tell?.(key, tokens);
    },
  };
}
