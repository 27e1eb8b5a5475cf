import { createPool, type PoolOptions, serviceTimeouts } from "@waymark/database";
import type { Logger } from "pino";
import type { databaseConfig } from "./env.js";
import { createRegistry, observePool } from "./metrics.js";
import { openStores } from "./open-stores.js";

interface DatabaseOptions {
  /** Such as `trace-api`: the name in metrics and `pg_stat_activity`. */
  service: string;
  config: { database: ReturnType<typeof databaseConfig>; redisUrl?: string | undefined };
  log: Logger;
  /** Settings of the pool beside {@link serviceTimeouts}. */
  pool?: Partial<PoolOptions> | undefined;
}

/** Opens a service's pool with its metrics and readiness checks. @throws ConfigError as {@link openStores} */
export async function openDatabase({ service, config: { database, redisUrl }, log, pool: settings }: DatabaseOptions) {
  const { url, maxConnections, isPooledByTransaction, isStandbyRequired } = database;
  const poolOptions = {
    connectionString: url,
    maxConnections,
    isPooledByTransaction,
    applicationName: `waymark ${service}`,
    ...serviceTimeouts,
    ...settings,
    onIdleError: (err: Error) => log.warn({ err }, "an idle database connection broke"),
  };
  const pool = createPool(poolOptions);
  const registry = createRegistry(service);
  observePool(registry, pool);
  const warn = (sentence: string) => log.warn(sentence);
  const stores = await openStores({ service, pool, poolOptions, isStandbyRequired, redisUrl, registry, warn });
  return { pool, registry, stores };
}
