import { createKeyDirectory } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { type ProcessLike, startHttpService } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import { createQueue, queues } from "@waymark/service/queue";
import { createApp } from "./app.js";
import { loadConfig } from "./config.js";
import { openGrpc } from "./grpc/open-grpc.js";
import { createAnswerBudget } from "./limits/budgets.js";
import { createTraceFeed } from "./stream/trace-feed.js";
import { createAlertQueue } from "./traces/alert-queue.js";
import { ByteReserve } from "./usage/byte-reserve.js";

export function run(node: ProcessLike): Promise<void> {
  return startHttpService(node, {
    name: "trace-api",
    loadConfig,
    pool: { plansOnce: true },
    openApp({ config, pool, registry, log, siblings, stores }) {
      const { redisUrl, database, slots } = config;
      const keys = createKeyDirectory({ service: "trace", pool, connectionString: database.directUrl, slots, log });
      const queue = createQueue(queues.traceFinalized, { redisUrl, databaseUrl: database.directUrl, log });
      const alerts = createAlertQueue({ queue, registry, log });
      const now = () => new Date();
      const refusals = createRefusals(registry);
      const answers = createAnswerBudget(refusals);
      const feed = createTraceFeed({ pool, log, registry, refusals, answers: answers.shares, now });
      const reserve = new ByteReserve(pool, log);
      const checks = { required: stores, bridged: { queue: () => queue.check() } };
      const handler = createApp({
        pool,
        keys,
        alerts,
        feed,
        reserve,
        answers,
        checks,
        log,
        registry,
        siblings,
        bodyLimitBytes: config.bodyLimitBytes,
        rateLimitPerSecond: config.rateLimitPerSecond,
        uuid: createUuidV7(),
        now,
        dashboardUrl: config.dashboardUrl,
      });
      return {
        handler,
        checks,
        listenFurther: (partOf) => openGrpc({ ...config.grpc, router: handler.router, refusals, partOf, log }),
        beforeStop: () => feed.stop(),
        async stop() {
          await reserve.stop();
          await alerts.idle();
          await queue.close();
          await keys.stop();
        },
      };
    },
  });
}
