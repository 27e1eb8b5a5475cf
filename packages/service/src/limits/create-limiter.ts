import { createRequire } from "node:module";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Logger } from "pino";
import { RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";

export interface Allowance {
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Keys in memory. Beyond, the key used longest ago starts its window anew. */
const maxKeys = 10_000;

interface Window {
  readonly endsAt: number;
  spent: number;
}

/** Counts requests per key in this process. A window begins with its first request. */
export function createMemoryLimiter(points: number, windowMs: number, now: () => number) {
  const windows = new LRUCache<string, Window>({ max: maxKeys });
  const open = (key: string): Window => {
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

export interface Limiter {
  spend(key: string): Promise<Allowance>;
  refund(key: string): Promise<void>;
  /** Rejects when the shared counters cannot be reached. */
  check(): Promise<unknown>;
  close(): Promise<void>;
}

export interface Limit {
  name: string;
  /** Requests of a key in a window, which begins with its first request. */
  points: number;
  windowSeconds: number;
}

interface LimiterOptions extends Limit {
  /** The shared counters' Redis; without it they are in Postgres. */
  redisUrl: string | undefined;
  pool: pg.Pool;
  log: Logger;
  now?(): number;
}

/** A slower counter costs the client more than the limit is worth. */
const redisTimeoutMs = 1_000;
/** After a failure the service counts in memory for this long, so a frozen Redis delays one request and not all. */
const redisPauseMs = 5_000;

function limitsOf({ name, points, windowSeconds }: LimiterOptions) {
  return {
    points,
    duration: windowSeconds,
    keyPrefix: `waymark:rate:${name}`,
    // Memory refuses a client going on after its last request, without the store.
    inMemoryBlockOnConsumed: points + 1,
  };
}

/** Counts in Redis when it is configured, otherwise in Postgres. Nothing else knows the store. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { redisUrl, pool } = options;
  return redisUrl === undefined ? createPostgresLimiter(pool, options) : createRedisLimiter(redisUrl, options);
}

function createPostgresLimiter(pool: pg.Pool, options: LimiterOptions): Limiter {
  const limiter = new RateLimiterPostgres({
    ...limitsOf(options),
    storeClient: pool,
    storeType: "pool",
    tableName: "rate_limit",
    tableCreated: true,
    // The worker removes expired rows.
    clearExpiredByTimeout: false,
  });
  return {
    spend: (key) => spend(limiter, key),
    refund: async (key) => void (await limiter.reward(key)),
    check: async () => undefined,
    close: async () => undefined,
  };
}

/** While Redis is down, each instance counts for itself: a generous limit beats an outage. */
function createRedisLimiter(url: string, options: LimiterOptions): Limiter {
  // 9 MB that a service without Redis does not need.
  const { Redis } = createRequire(import.meta.url)("ioredis") as typeof import("ioredis");
  const { log, now = Date.now } = options;
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: redisTimeoutMs,
    commandTimeout: redisTimeoutMs,
    // After a failover the address may lead to a replica: connecting again finds the new primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isUp = true;
  let pausedUntil = 0;
  const lose = (err: unknown) => {
    if (isUp) log.warn({ err }, "Redis cannot be reached; each instance counts requests for itself");
    isUp = false;
  };
  const regain = () => {
    if (!isUp) log.info("Redis is back; requests are counted over all instances");
    isUp = true;
    pausedUntil = 0;
  };
  redis.on("error", lose);
  redis.on("ready", regain);
  const shared = new RateLimiterRedis({ ...limitsOf(options), storeClient: redis, rejectIfRedisNotReady: true });
  const own = createMemoryLimiter(options.points, options.windowSeconds * 1_000, now);
  return {
    async spend(key) {
      if (now() < pausedUntil) return own.spend(key);
      // While Redis is down, one request at a time tries it, and the others do not wait.
      if (!isUp) pausedUntil = now() + redisPauseMs;
      try {
        const allowance = await spend(shared, key);
        regain();
        return allowance;
      } catch (error) {
        lose(error);
        pausedUntil = now() + redisPauseMs;
        return own.spend(key);
      }
    },
    async refund(key) {
      own.refund(key);
      await shared.reward(key).catch(() => undefined);
    },
    check: () => redis.ping(),
    close: async () => redis.disconnect(),
  };
}

async function spend(limiter: RateLimiterPostgres | RateLimiterRedis, key: string): Promise<Allowance> {
  try {
    return toAllowance(await limiter.consume(key), true);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return toAllowance(refusal, false);
    throw refusal;
  }
}

function toAllowance({ remainingPoints, msBeforeNext }: RateLimiterRes, isAllowed: boolean): Allowance {
  return { isAllowed, remaining: remainingPoints, resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1_000)) };
}
