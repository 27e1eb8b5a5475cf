import { readFile } from "node:fs/promises";
import { createCollector, openCountryDirectory } from "@waymark/analytics";
import { createPool, serviceTimeouts } from "@waymark/database";
import {
  ConfigError,
  createLogger,
  createRegistry,
  listen,
  observePool,
  openOperationsServer,
  runProcess,
} from "@waymark/service";
import type { Logger } from "pino";
import { createApp } from "./app.js";
import { type Config, loadConfig } from "./config.js";
import { createAddressReader, createClientReader } from "./event/read-client.js";
import { loadSpamReferrers } from "./event/spam-referrers.js";

/** Requests in hand get this long after a stop was asked for. */
const drainTimeoutMs = 10_000;
/** A month's new partition, or a migration, may hold a table for a while. */
const lockTimeoutMs = 5_000;

async function start(config: Config, log: Logger) {
  const countries = await readable("COUNTRY_DATABASE", openCountryDirectory(config.countryDatabase));
  const isSpam = await readable("REFERRER_SPAM_LIST", loadSpamReferrers(config.referrerSpamList));
  const script = await readFile(new URL("../assets/script.js", import.meta.url), "utf8");
  const pool = createPool({
    connectionString: config.database.url,
    maxConnections: config.database.maxConnections,
    applicationName: "waymark collector",
    ...serviceTimeouts,
    lockTimeoutMs,
    onIdleError: (err) => log.warn({ err }, "an idle database connection broke"),
  });
  const collector = createCollector({ pool });
  const registry = createRegistry("collector");
  observePool(registry, pool);
  const checks = { required: { database: () => pool.query("SELECT 1") } };
  const { trustedProxies, countryHeader } = config;
  const readClient = createClientReader({ trustedProxies, countryHeader, countries });
  const addressOf = createAddressReader(trustedProxies);
  const { eventsPerSecond } = config;
  const app = createApp({ collector, readClient, addressOf, eventsPerSecond, isSpam, script, checks, log, registry });
  const operations = await openOperationsServer({
    ...config.metrics,
    registry,
    checks,
    portVariable: "COLLECTOR_METRICS_PORT",
  });
  const { host, port } = config.http;
  const server = await listen({ handler: app, host, port, portVariable: "COLLECTOR_PORT", registry });
  log.info({ host, port: server.port, metricsPort: operations.port }, "listening");
  return {
    async stop() {
      await server.stop(drainTimeoutMs);
      await collector.drain();
      await pool.end();
      await operations.stop(0);
    },
  };
}

/** A file that a variable names and that cannot be read is a mistake of the configuration. */
async function readable<Content>(variable: string, content: Promise<Content>): Promise<Content> {
  try {
    return await content;
  } catch (error) {
    throw new ConfigError([`${variable} names a file that cannot be read: ${reasonOf(error)}`]);
  }
}

function reasonOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}

const log = createLogger({ service: "collector", level: process.env["LOG_LEVEL"] });
await runProcess(process, log, async () => start(loadConfig(process.env), log));
