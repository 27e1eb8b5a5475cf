import type { AlertKey, MailLimits } from "@waymark/alerts";
import { createPartitions } from "@waymark/analytics";
import type { TraceFinalizedQueue } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { createSendAlert } from "./alerts/send-alert.js";
import { createSendNextAlert } from "./alerts/send-next-alert.job.js";
import { createSweepAlerts } from "./alerts/sweep-alerts.job.js";
import type { Mailer } from "./mails/mailer.js";
import type { WorkerMetrics } from "./metrics.js";
import { createKeepEvents } from "./retention/keep-events.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import type { PeriodicJob } from "./run-periodically.js";
import { createCloseStaleTraces, staleTracesIntervalMs } from "./stale-traces/close-stale-traces.job.js";
import { createSendSummaries } from "./summaries/send-summaries.job.js";

export interface JobDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
  mailer: Mailer;
  metrics: WorkerMetrics;
  log: Logger;
  dashboardUrl: string;
  /** Alert mails of an hour at most. */
  limits: MailLimits;
  sweepIntervalMs: number;
  eventRetentionMonths: number | undefined;
  /** Undefined: stale traces stay running. */
  staleAfterMs: number | undefined;
  now(): Date;
  isStopping(): boolean;
}

/** Everything that the worker does: jobs that come through the queue, and jobs that come with time. */
export function createJobs(deps: JobDeps) {
  const { pool, queue, mailer, metrics, log, dashboardUrl, limits, staleAfterMs, now, isStopping } = deps;
  const mailing = { pool, mailer, log, limits, dashboardUrl, isStopping };
  const periodic: PeriodicJob[] = [
    {
      name: "sweep-alerts",
      what: "queues pending alerts that are not in the queue",
      everyMs: deps.sweepIntervalMs,
      run: createSweepAlerts({ pool, queue, log }),
    },
    {
      name: "send-summaries",
      what: "mails accounts a summary of the alerts above their mail limits",
      everyMs: deps.sweepIntervalMs,
      run: createSendSummaries({ ...mailing, count: metrics.countSummary }),
    },
    {
      name: "purge-expired",
      what: "removes data past its retention, and rows of deleted accounts and sites",
      everyMs: 3_600_000,
      run: createPurgeExpired({ pool, log, now, isStopping }),
    },
    {
      name: "keep-events",
      what: "makes the partitions of raw events ahead of time, and removes months past their retention",
      everyMs: 3_600_000,
      run: createKeepEvents({
        pool,
        partitions: createPartitions(pool, () => now().getTime()),
        log,
        retentionMonths: deps.eventRetentionMonths,
        now,
        isStopping,
      }),
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
  const queued = {
    traceFinalized: {
      what: "sends the mail of one alert, of the account whose turn it is",
      // Resend takes two mails a second; more in hand would only wait.
      concurrency: 4,
      run: createSendNextAlert({
        pool,
        limits,
        log,
        send: createSendAlert({ ...mailing, count: metrics.countMail }),
        countHeld: metrics.countHeld,
      }),
    },
  } satisfies Record<string, QueuedJob>;
  return { periodic, queued };
}

interface QueuedJob {
  what: string;
  concurrency: number;
  run(payload: AlertKey): Promise<unknown>;
}
