import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import {
  checkParameters,
  checkPooling,
  createPool,
  findSchemaProblem,
  PoolingError,
  type PoolOptions,
  serviceTimeouts,
} from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";
import { Gauge, type Registry } from "prom-client";
import { ConfigError, type databaseConfig } from "./env.js";
import { createRegistry, observePool } from "./metrics.js";
import { type Checks, NotReadyError } from "./operations-server.js";

interface Row {
  commit: string;
  names: string;
  is_connected: boolean;
}

/**
 * Whether a commit waits for a second machine, by settings and by the standbys connected to this server. A role without
 * `pg_read_all_stats` sees no more of a standby than its presence.
 */
const standbySql = `
  SELECT current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS names,
    EXISTS (SELECT FROM pg_stat_replication WHERE COALESCE(sync_state, 'sync') IN ('sync', 'quorum')) AS is_connected`;

async function checkStandby(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<Row>(standbySql);
  const [row] = rows;
  if (!row) throw new NotReadyError("Postgres did not answer");
  if (row.names === "") throw new NotReadyError("writes are on one machine: synchronous_standby_names is empty");
  if (["off", "local"].includes(row.commit))
    throw new NotReadyError(`writes are on one machine: synchronous_commit is ${row.commit}`);
  if (!row.is_connected) throw new NotReadyError("writes wait: no synchronous standby is connected");
}

function observeStandby(registry: Registry, check: () => Promise<void>): void {
  new Gauge({
    name: "waymark_synchronous_standby",
    help: "1 while commits wait for a synchronous standby that is connected, else 0",
    aggregator: "min",
    registers: [registry],
    async collect() {
      const isOk = await check().then(
        () => true,
        () => false,
      );
      this.set(isOk ? 1 : 0);
    },
  });
}

/** Class 28 and 3D000: Postgres refuses the password, the user or the database (its documentation, appendix A). */
const refusedCodes = /^(28...|3D000)$/;

function nameRefusal(error: Error & { code?: unknown }): Error {
  if (!refusedCodes.test(String(error.code))) return error;
  return new NotReadyError(`Postgres refuses DATABASE_URL: ${error.message}`);
}

export interface StoresOptions {
  service: string;
  /** Gets the sentence for a schema or a role with which the service begins to wait. */
  warn(sentence: string): void;
  pool: pg.Pool;
  poolOptions: PoolOptions;
  isStandbyRequired?: boolean | undefined;
  redisUrl?: string | undefined;
  registry: Registry;
}

/**
 * Makes the checks of the database for `/ready`. Stores out of reach, an older schema and a role without rights are left to
 * them: new processes may start before `waymark migrate` has ended.
 * @throws ConfigError for a pooler or a Redis that would do our work wrongly
 */
export async function openStores(options: StoresOptions): Promise<Checks> {
  const { pool, poolOptions, redisUrl, registry } = options;
  const pooling = checkPooling(poolOptions).catch((error) => {
    if (error instanceof PoolingError) throw new ConfigError([error.message]);
  });
  await Promise.all([pooling, redisUrl && refuseCluster(redisUrl)]);
  let isSchemaKnown = false;
  const checkSchema = async () => {
    if (isSchemaKnown) return;
    const problem = await findSchemaProblem(pool, options.service);
    if (problem) throw new NotReadyError(problem);
    isSchemaKnown = true;
  };
  const database = async () => {
    await checkParameters(pool, poolOptions).catch((error) => {
      throw error instanceof PoolingError ? new NotReadyError(error.message) : nameRefusal(error);
    });
    await checkSchema();
  };
  await checkSchema().catch((given) => {
    const error = nameRefusal(given);
    if (error instanceof NotReadyError) options.warn(`This service waits: ${error.message}`);
  });
  if (!options.isStandbyRequired) return { database };
  const standby = () => checkStandby(pool);
  observeStandby(registry, standby);
  return { database, standby };
}

const redisTimeoutMs = 1_000;

/** Keys of a queue would be on several servers of a cluster, and no script could change them at once. */
async function refuseCluster(url: string): Promise<void> {
  // 9 MB that a service without Redis does not need.
  const { Redis } = createRequire(import.meta.url)("ioredis") as typeof import("ioredis");
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: redisTimeoutMs,
    commandTimeout: redisTimeoutMs,
  });
  redis.on("error", () => undefined);
  const about = await redis
    .connect()
    .then(() => redis.info("cluster"))
    .catch((error: Error) => error.message);
  redis.disconnect();
  if (/^(MOVED|CLUSTERDOWN|CROSSSLOT) |cluster_enabled:1/m.test(about))
    throw new ConfigError([
      "REDIS_URL leads to a Redis Cluster, which keeps a queue's keys apart: use one server with replicas, or none",
    ]);
}

interface DatabaseOptions {
  /** Such as `trace-api`: the name in metrics and `pg_stat_activity`. */
  service: string;
  config: { database: ReturnType<typeof databaseConfig>; redisUrl?: string | undefined };
  log: Logger;
  /** Settings of the pool beside {@link serviceTimeouts}. */
  pool?: Partial<PoolOptions> | undefined;
}

/** The version of the tag, which `pnpm release` compares. */
function readRelease(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Opens a service's pool with its metrics and readiness checks. @throws ConfigError as {@link openStores} */
export async function openDatabase({ service, config: { database, redisUrl }, log, pool: settings }: DatabaseOptions) {
  const { url, maxConnections, isPooledByTransaction, isStandbyRequired } = database;
  const poolOptions = {
    connectionString: url,
    maxConnections,
    isPooledByTransaction,
    // The operator's doctor compares the releases of all who are connected.
    applicationName: `waymark ${service} ${readRelease()}`,
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
