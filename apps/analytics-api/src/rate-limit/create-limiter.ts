import { statisticsRequestsPerMinute } from "@waymark/plan";
import { Redis } from "ioredis";
import type pg from "pg";
import type { Logger } from "pino";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";

/** What a request may still do in its window. */
export interface Allowance {
  readonly isAllowed: boolean;
  /** Requests left in the window. */
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Counts requests per key over all instances. */
export interface Limiter {
  /** Spends one request of the key's minute, if there is one left. */
  spend(keyId: string): Promise<Allowance>;
  /** Rejects when the shared counters cannot be reached. */
  check(): Promise<unknown>;
  close(): Promise<void>;
}

export interface LimiterOptions {
  /** Where the counters are shared; without it they are in Postgres. */
  redisUrl: string | undefined;
  pool: pg.Pool;
  log: Logger;
}

const windowSeconds = 60;
/** A counter that takes longer than this costs the client more than the limit is worth. */
const redisTimeoutMs = 1_000;

const limits = {
  points: statisticsRequestsPerMinute,
  duration: windowSeconds,
  keyPrefix: "waymark:rate:statistics",
  // A client that goes on after its last request is refused from memory, without asking the store each time.
  inMemoryBlockOnConsumed: statisticsRequestsPerMinute + 1,
};

/** Chooses where requests are counted: Redis where it is configured, otherwise Postgres. Nothing else knows which. */
export function createLimiter({ redisUrl, pool, log }: LimiterOptions): Limiter {
  return redisUrl === undefined ? createPostgresLimiter(pool) : createRedisLimiter(redisUrl, log);
}

function createPostgresLimiter(pool: pg.Pool): Limiter {
  const limiter = new RateLimiterPostgres({
    ...limits,
    storeClient: pool,
    storeType: "pool",
    tableName: "rate_limit",
    tableCreated: true,
    // The worker clears what is expired.
    clearExpiredByTimeout: false,
  });
  return { spend: (keyId) => spend(limiter, keyId), check: async () => undefined, close: async () => undefined };
}

/** While Redis is down each instance counts for itself: a limit that is too generous for a while beats an outage. */
function createRedisLimiter(url: string, log: Logger): Limiter {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: redisTimeoutMs,
    commandTimeout: redisTimeoutMs,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isUp = true;
  redis.on("error", (err: Error) => {
    if (isUp) log.warn({ err }, "Redis cannot be reached; each instance counts requests for itself");
    isUp = false;
  });
  redis.on("ready", () => {
    if (!isUp) log.info("Redis is back; requests are counted over all instances");
    isUp = true;
  });
  const limiter = new RateLimiterRedis({
    ...limits,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory({ points: limits.points, duration: limits.duration }),
  });
  return {
    spend: (keyId) => spend(limiter, keyId),
    check: () => redis.ping(),
    close: async () => redis.disconnect(),
  };
}

async function spend(limiter: RateLimiterPostgres | RateLimiterRedis, keyId: string): Promise<Allowance> {
  try {
    return toAllowance(await limiter.consume(keyId), true);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return toAllowance(refusal, false);
    throw refusal;
  }
}

function toAllowance({ remainingPoints, msBeforeNext }: RateLimiterRes, isAllowed: boolean): Allowance {
  return { isAllowed, remaining: remainingPoints, resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1_000)) };
}
