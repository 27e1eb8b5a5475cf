import type { MailLimits, QueueAlertsDeps } from "@waymark/alerts";
import { createPartitions } from "@waymark/analytics";
import type { Mailer } from "@waymark/mail";
import { queues } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { createSendAlert } from "./alerts/send-alert.js";
import { createSendNextAlert } from "./alerts/send-next-alert.job.js";
import { createSweepAlerts } from "./alerts/sweep-alerts.job.js";
import type { WorkerMetrics } from "./metrics.js";
import { type QueuedJob, queuedJob } from "./queued-job.js";
import { createKeepEvents } from "./retention/keep-events.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import { createStoreDays } from "./retention/store-days.job.js";
import type { PeriodicJob } from "./run-periodically.js";
import { createCloseStaleTraces, staleTracesIntervalMs } from "./stale-traces/close-stale-traces.job.js";
import { createSendSummaries } from "./summaries/send-summaries.job.js";

interface JobDeps {
  pool: pg.Pool;
  queue: QueueAlertsDeps["queue"];
  mailer: Mailer;
  metrics: WorkerMetrics;
  log: Logger;
  dashboardUrl: string;
  limits: MailLimits;
  sweepIntervalMs: number;
  eventRetentionMonths: number | undefined;
  /** Undefined: stale traces stay running. */
  staleAfterMs: number | undefined;
  now(): Date;
  isStopping(): boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The table of the worker's jobs: one for each queue, and the periodic ones. */
export function createJobs(deps: JobDeps): { queued: QueuedJob[]; periodic: PeriodicJob[] } {
  const { pool, queue, metrics, log, staleAfterMs, now, isStopping } = deps;
  const queued = {
    traceFinalized: queuedJob(queues.traceFinalized, {
      what: "sends the mail of one alert, of the account whose turn it is",
      // Resend takes two mails a second; more in hand would only wait.
      concurrency: 4,
      run: createSendNextAlert({
        ...deps,
        send: createSendAlert({ ...deps, count: metrics.countMail }),
        countHeld: metrics.countHeld,
      }),
    }),
  } satisfies Record<keyof typeof queues, QueuedJob>;
  const periodic: PeriodicJob[] = [
    {
      name: "sweep-alerts",
      what: "queues pending alerts that are not in the queue",
      everyMs: deps.sweepIntervalMs,
      run: createSweepAlerts({ pool, queue, log }),
    },
    {
      name: "send-summaries",
      what: "mails accounts a summary of the alerts above their limits",
      everyMs: deps.sweepIntervalMs,
      run: createSendSummaries({ ...deps, count: metrics.countSummary }),
    },
    {
      name: "purge-expired",
      what: "removes data past its retention, and rows of deleted accounts and sites",
      everyMs: hourMs,
      run: createPurgeExpired({ pool, log, now, isStopping }),
    },
    {
      name: "keep-events",
      what: "makes the partitions of raw events ahead of time, and removes months past their retention",
      everyMs: hourMs,
      run: createKeepEvents({
        pool,
        partitions: createPartitions(pool, () => now().getTime()),
        log,
        retentionMonths: deps.eventRetentionMonths,
        now,
        isStopping,
      }),
    },
    {
      name: "store-days",
      what: "stores finished days of sites as columns, which filters read",
      everyMs: 10 * minuteMs,
      run: createStoreDays({ pool, log, now, isStopping }),
    },
  ];
  if (staleAfterMs !== undefined) {
    periodic.push({
      name: "close-stale-traces",
      what: "sets running traces without a write for so long to timeout, and queues their alerts",
      everyMs: staleTracesIntervalMs(staleAfterMs),
      run: createCloseStaleTraces({ pool, queue, log, staleAfterMs, isStopping }),
    });
  }
  return { queued: Object.values(queued), periodic };
}
