import type { Logger } from "pino";
import type { QueueBackend } from "./backend.js";
import { createPostgresQueueBackend } from "./postgres-backend.js";
import { createRedisQueueBackend } from "./redis-backend.js";

/** Where the queue is. */
export interface QueueOptions {
  /** A `redis://` or `rediss://` URL; without one the queue is in Postgres. */
  redisUrl?: string | undefined;
  /** A `postgres://` URL. */
  databaseUrl: string;
  log: Logger;
}

/** Chooses the server: Redis where it is configured, otherwise Postgres. Nothing else knows which it is. */
export function chooseBackend(options: QueueOptions): QueueBackend {
  if (options.redisUrl) return createRedisQueueBackend(options.redisUrl);
  return createPostgresQueueBackend(options.databaseUrl);
}
