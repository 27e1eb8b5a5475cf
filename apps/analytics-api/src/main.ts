import { createKeyDirectory } from "@waymark/auth";
import { createPool, serviceTimeouts } from "@waymark/database";
import { createLogger, createRegistry, listen, observePool, openOperationsServer, runProcess } from "@waymark/service";
import type { Logger } from "pino";
import { createApp } from "./app.js";
import { type Config, loadConfig } from "./config.js";
import { createLimiter } from "./rate-limit/create-limiter.js";

/** Requests in hand get this long after a stop was asked for. */
const drainTimeoutMs = 10_000;

async function start(config: Config, log: Logger) {
  const pool = createPool({
    connectionString: config.database.url,
    maxConnections: config.database.maxConnections,
    applicationName: "waymark analytics-api",
    ...serviceTimeouts,
    onIdleError: (err) => log.warn({ err }, "an idle database connection broke"),
  });
  const keys = createKeyDirectory({ service: "analytics", pool, connectionString: config.database.url, log });
  const limiter = createLimiter({ redisUrl: config.redisUrl, pool, log });
  const registry = createRegistry("analytics-api");
  observePool(registry, pool);
  const checks = {
    required: { database: () => pool.query("SELECT 1") },
    bridged: config.redisUrl === undefined ? {} : { redis: () => limiter.check() },
  };
  const app = createApp({ pool, keys, limiter, checks, log, registry, now: () => new Date() });
  const operations = await openOperationsServer({
    ...config.metrics,
    registry,
    checks,
    portVariable: "ANALYTICS_API_METRICS_PORT",
  });
  const { host, port } = config.http;
  const server = await listen({ handler: app, host, port, portVariable: "ANALYTICS_API_PORT", registry });
  log.info({ host, port: server.port, metricsPort: operations.port }, "listening");
  return {
    async stop() {
      await server.stop(drainTimeoutMs);
      await keys.stop();
      await limiter.close();
      await pool.end();
      await operations.stop(0);
    },
  };
}

const log = createLogger({ service: "analytics-api", level: process.env["LOG_LEVEL"] });
await runProcess(process, log, async () => start(loadConfig(process.env), log));
