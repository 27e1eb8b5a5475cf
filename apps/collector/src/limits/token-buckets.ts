/** Seconds for which a bucket saves up unused tokens. */
const burstSeconds = 10;

interface Bucket {
  tokens: number;
  /** When the tokens were counted, in milliseconds. */
  at: number;
}

export interface TokenBucketsOptions {
  /** Tokens of a key a second, with bursts of ten seconds' worth; 0 for no limit. */
  perSecond: number;
  /** Keys remembered at most; beyond, the one that was used longest ago starts anew with a full bucket. */
  maxKeys: number;
  /** Milliseconds from any point on. */
  clock(): number;
}

/** A bucket of tokens per key, in memory. */
export interface TokenBuckets {
  /** Keys that are remembered. */
  readonly size: number;
  /** Takes tokens, or nothing where there are too few: then the seconds until there are enough, at least 1. */
  take(key: string, tokens: number): { retryAfterSeconds: number } | undefined;
  /** Takes tokens for work that is done already; the bucket may go below zero. */
  charge(key: string, tokens: number): void;
}

/** Makes buckets, all of them full. */
export function createTokenBuckets({ perSecond, maxKeys, clock }: TokenBucketsOptions): TokenBuckets {
  // In the order of their last use.
  const buckets = new Map<string, Bucket>();
  const burst = perSecond * burstSeconds;

  function use(key: string): Bucket {
    const now = clock();
    const known = buckets.get(key);
    const bucket = known ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    if (known) buckets.delete(key);
    const [oldest] = buckets.keys();
    if (oldest !== undefined && buckets.size >= maxKeys) buckets.delete(oldest);
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    get size() {
      return buckets.size;
    },
    take(key, tokens) {
      if (perSecond === 0) return undefined;
      const bucket = use(key);
      // A full bucket pays for more than it holds, and is then below zero.
      const missing = Math.min(tokens, burst) - bucket.tokens;
      if (missing > 0) return { retryAfterSeconds: Math.max(1, Math.ceil(missing / perSecond)) };
      bucket.tokens -= tokens;
      return undefined;
    },
    charge(key, tokens) {
      if (perSecond > 0 && tokens > 0) use(key).tokens -= tokens;
    },
  };
}
