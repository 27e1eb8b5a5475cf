import { queueAlerts } from "@waymark/alerts";
import { createKeyDirectory } from "@waymark/auth";
import { createPool, createUuidV7, serviceTimeouts } from "@waymark/database";
import { createTraceFinalizedQueue } from "@waymark/queue";
import { createLogger, createRegistry, listen, observePool, openOperationsServer, runProcess } from "@waymark/service";
import type { Logger } from "pino";
import { createApp } from "./app.js";
import { type Config, loadConfig } from "./config.js";
import { createAlertQueue } from "./traces/alert-queue.js";

/** Requests in hand get this long after a stop was asked for. */
const drainTimeoutMs = 10_000;

async function start(config: Config, log: Logger) {
  const pool = createPool({
    connectionString: config.database.url,
    maxConnections: config.database.maxConnections,
    applicationName: "waymark trace-api",
    ...serviceTimeouts,
    plansOnce: true,
    onIdleError: (err) => log.warn({ err }, "an idle database connection broke"),
  });
  const keys = createKeyDirectory({ service: "trace", pool, connectionString: config.database.url, log });
  const queue = createTraceFinalizedQueue({ redisUrl: config.redisUrl, databaseUrl: config.database.url, log });
  const registry = createRegistry("trace-api");
  observePool(registry, pool);
  const alerts = createAlertQueue({ queueAlerts: (batch) => queueAlerts({ pool, queue }, batch), registry, log });
  const checks = { required: { database: () => pool.query("SELECT 1") }, bridged: { queue: () => queue.check() } };
  const app = createApp({
    pool,
    keys,
    alerts,
    checks,
    log,
    registry,
    bodyLimitBytes: config.http.bodyLimitBytes,
    rateLimitPerSecond: config.rateLimitPerSecond,
    uuid: createUuidV7(),
    now: () => new Date(),
  });
  const operations = await openOperationsServer({
    ...config.metrics,
    registry,
    checks,
    portVariable: "TRACE_API_METRICS_PORT",
  });
  const { host, port } = config.http;
  const server = await listen({ handler: app, host, port, portVariable: "TRACE_API_PORT", registry });
  log.info({ host, port: server.port, metricsPort: operations.port }, "listening");
  return {
    async stop() {
      await server.stop(drainTimeoutMs);
      await alerts.idle();
      await queue.close();
      await keys.stop();
      await pool.end();
      await operations.stop(0);
    },
  };
}

const log = createLogger({ service: "trace-api", level: process.env["LOG_LEVEL"] });
await runProcess(process, log, async () => start(loadConfig(process.env), log));
