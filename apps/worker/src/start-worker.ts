import { openMailer } from "@waymark/alerts/mail";
import { observeReadiness, openDatabase, openOperationsServer, type Running, readiness } from "@waymark/service";
import { createQueue, queues } from "@waymark/service/queue";
import type { Logger } from "pino";
import type { Config } from "./config.js";
import { createJobs } from "./jobs.js";
import { createWorkerMetrics } from "./metrics.js";
import { observeJobs, runPeriodically } from "./run-periodically.js";

/** Mails in hand get this long after a stop was asked for. */
const drainTimeoutMs = 18_000;
/** The longest statement is a batch of the retention. */
const statementTimeoutMs = 60_000;
/** Making or dropping a partition waits for locks that a busy collector holds for moments. */
const lockTimeoutMs = 5_000;

export async function startWorker(config: Config, log: Logger): Promise<Running & { port: number }> {
  const settings = { statementTimeoutMs, lockTimeoutMs };
  const { pool, registry, stores } = await openDatabase({ service: "worker", config, log, pool: settings });
  const server = { redisUrl: config.redisUrl, databaseUrl: config.database.directUrl, log };
  const queue = createQueue(queues.traceFinalized, server);
  // Without its queue mails wait for the sweep.
  const ready = () => readiness({ required: { ...stores, queue: () => queue.check() } });
  observeReadiness(registry, ready);
  const operations = await openOperationsServer({
    ...config.metrics,
    metrics: () => registry.metrics(),
    ready,
    portVariable: "WORKER_METRICS_PORT",
  });
  let isStopping = false;
  const { queued, periodic, drain } = createJobs({
    ...config,
    ...config.mail,
    pool,
    queue,
    mailer: await openMailer(config.mail, log),
    metrics: createWorkerMetrics(registry, pool),
    log,
    now: () => new Date(),
    isStopping: () => isStopping,
  });
  const workers = queued.map((start) => start(server));
  const rounds = runPeriodically(periodic, log, observeJobs(registry, periodic));
  const mails = config.mail.resend ? "resend" : (config.mail.smtp?.host ?? config.mail.folder);
  const jobs = [...Object.values(queues), ...periodic].map(({ name }) => name);
  log.info({ metricsPort: operations.port, jobs, mails }, "working");
  return {
    inHand: () => rounds.running(),
    port: operations.port,
    async stop() {
      isStopping = true;
      await Promise.all([...workers.map((worker) => worker.close(drainTimeoutMs)), rounds.stop()]);
      await drain();
      await queue.close();
      await pool.end();
      await operations.stop(0);
    },
  };
}
