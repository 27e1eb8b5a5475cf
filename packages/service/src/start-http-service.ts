import type { RequestListener } from "node:http";
import { createPool, type PoolOptions, serviceTimeouts } from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { listen } from "./listen.js";
import { createLogger } from "./logger.js";
import { createRegistry, observePool } from "./metrics.js";
import { openOperationsServer } from "./operations-server.js";
import type { ReadinessChecks } from "./readiness.js";
import { type ProcessLike, type Running, runProcess } from "./run-process.js";

/** The settings of every HTTP service; each adds its own. */
export interface HttpServiceConfig {
  http: { host: string; port: number };
  metrics: { host: string; port: number; isPortChosen: boolean };
  database: { url: string; maxConnections: number };
}

export interface ServiceParts<Config> {
  config: Config;
  pool: pg.Pool;
  registry: Registry;
  log: Logger;
  /** The readiness check of the database. */
  checkDatabase(): Promise<unknown>;
}

interface HttpApp {
  /** The Express app. */
  handler: RequestListener;
  /** The checks of `/ready` on the operations port. */
  checks: ReadinessChecks;
  /** Closes the app's own resources, after the last request and before the pool. */
  stop(): Promise<void>;
}

export interface HttpServiceOptions<Config extends HttpServiceConfig> {
  /** Such as `trace-api`: the name in logs, metrics and `pg_stat_activity`. Its ports' variables start with it, in capitals. */
  name: string;
  /** @throws ConfigError naming each missing or wrong variable */
  loadConfig(env: NodeJS.ProcessEnv): Config;
  /** Settings of the pool beside {@link serviceTimeouts}. */
  pool?: Pick<Partial<PoolOptions>, "lockTimeoutMs" | "plansOnce" | "pipeline">;
  openApp(parts: ServiceParts<Config>): HttpApp | Promise<HttpApp>;
}

/** After a signal, requests in hand get this long. */
const drainTimeoutMs = 10_000;

/**
 * Runs an HTTP service as a process: pool, app, operations server and HTTP server. On a signal they close in this order:
 * HTTP server, app, pool, operations server. {@link runProcess} has the signals and exit codes.
 * @param node Node's `process`, with its environment
 */
export async function startHttpService<Config extends HttpServiceConfig>(
  node: ProcessLike & { env: NodeJS.ProcessEnv },
  options: HttpServiceOptions<Config>,
): Promise<void> {
  const log = createLogger({ service: options.name, level: node.env["LOG_LEVEL"] });
  await runProcess(node, log, async () => openService(options, options.loadConfig(node.env), log));
}

async function openService<Config extends HttpServiceConfig>(
  options: HttpServiceOptions<Config>,
  config: Config,
  log: Logger,
): Promise<Running> {
  const { name } = options;
  const variables = name.toUpperCase().replaceAll("-", "_");
  const pool = createPool({
    connectionString: config.database.url,
    maxConnections: config.database.maxConnections,
    applicationName: `waymark ${name}`,
    ...serviceTimeouts,
    ...options.pool,
    onIdleError: (err) => log.warn({ err }, "an idle database connection broke"),
  });
  const registry = createRegistry(name);
  observePool(registry, pool);
  const checkDatabase = () => pool.query("SELECT 1");
  const app = await options.openApp({ config, pool, registry, log, checkDatabase });
  const { checks, handler } = app;
  const portVariable = `${variables}_METRICS_PORT`;
  const operations = await openOperationsServer({ ...config.metrics, registry, checks, portVariable });
  const { host, port } = config.http;
  const server = await listen({ handler, host, port, portVariable: `${variables}_PORT`, registry });
  log.info({ host, port: server.port, metricsPort: operations.port }, "listening");
  return {
    async stop() {
      await server.stop(drainTimeoutMs);
      await app.stop();
      await pool.end();
      await operations.stop(0);
    },
  };
}
