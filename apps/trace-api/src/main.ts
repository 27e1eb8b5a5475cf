import { queueAlerts } from "@waymark/alerts";
import { createKeyDirectory } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { createQueue, queues } from "@waymark/queue";
import { startHttpService } from "@waymark/service";
import { createApp } from "./app.js";
import { loadConfig } from "./config.js";
import { createAlertQueue } from "./traces/alert-queue.js";

await startHttpService(process, {
  name: "trace-api",
  loadConfig,
  pool: { plansOnce: true },
  openApp({ config, pool, registry, log, checkDatabase }) {
    const { redisUrl, database } = config;
    const keys = createKeyDirectory({ service: "trace", pool, connectionString: database.url, log });
    const queue = createQueue(queues.traceFinalized, { redisUrl, databaseUrl: database.url, log });
    const alerts = createAlertQueue({ queueAlerts: (batch) => queueAlerts({ pool, queue }, batch), registry, log });
    const checks = { required: { database: checkDatabase }, bridged: { queue: () => queue.check() } };
    const handler = createApp({
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
      dashboardUrl: config.dashboardUrl,
    });
    return {
      handler,
      checks,
      async stop() {
        await alerts.idle();
        await queue.close();
        await keys.stop();
      },
    };
  },
});
