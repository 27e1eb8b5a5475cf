import type { Logger } from "pino";
import type { QueueBackend } from "./backend.js";
import { createPostgresQueueBackend } from "./postgres-backend.js";
import { createRedisQueueBackend } from "./redis-backend.js";

/** The server of the queues. */
export interface QueueServer {
  /** A `redis://` or `rediss://` URL; without one the queues are in Postgres. */
  redisUrl?: string | undefined;
  /** A `postgres://` URL. */
  databaseUrl: string;
  log: Logger;
}

/** Chooses the server: Redis if configured, otherwise Postgres. No other code knows the choice. */
export function chooseBackend(server: QueueServer): QueueBackend {
  if (server.redisUrl) return createRedisQueueBackend(server.redisUrl);
  return createPostgresQueueBackend(server.databaseUrl);
}
