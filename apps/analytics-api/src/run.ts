import { createKeyDirectory } from "@waymark/auth";
import { type ProcessLike, startHttpService } from "@waymark/service";
import { createLimiter } from "@waymark/service/limits";
import { createApp } from "./app.js";
import { loadConfig } from "./config.js";
import { statisticsLimit } from "./guards.js";

export function run(node: ProcessLike): Promise<void> {
  return startHttpService(node, {
    name: "analytics-api",
    loadConfig,
    openApp({ config, pool, registry, log, stores }) {
      const { redisUrl, database, dashboardUrl, slots } = config;
      const keys = createKeyDirectory({ service: "analytics", pool, connectionString: database.directUrl, slots, log });
      const limiter = createLimiter({ ...statisticsLimit, redisUrl, pool, log });
      const bridged = redisUrl === undefined ? {} : { redis: () => limiter.check() };
      const checks = { required: stores, bridged };
      return {
        handler: createApp({ pool, keys, limiter, checks, log, registry, now: () => new Date(), dashboardUrl }),
        checks,
        async stop() {
          await keys.stop();
          await limiter.close();
        },
      };
    },
  });
}
