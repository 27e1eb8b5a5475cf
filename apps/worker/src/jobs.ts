import { createPartitions } from "@waymark/analytics";
import type { TraceFinalized, TraceFinalizedQueue } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import type { Mailer } from "./failure-mail/mailer.js";
import { createSendFailureMail } from "./failure-mail/send-failure-mail.job.js";
import type { WorkerMetrics } from "./metrics.js";
import { createKeepEvents } from "./retention/keep-events.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import type { PeriodicJob } from "./run-periodically.js";
import { createCloseStaleRuns, staleRunsIntervalMs } from "./stale-runs/close-stale-runs.job.js";
import { createSendSummaries } from "./summary/send-summaries.job.js";
import { createSweepAlerts } from "./sweep/sweep-alerts.job.js";
import type { MailLimits } from "./turns/claim-alert.query.js";
import { createTakeTurn } from "./turns/take-turn.job.js";

export interface JobDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
  mailer: Mailer;
  metrics: WorkerMetrics;
  log: Logger;
  dashboardUrl: string;
  /** Failure mails of an hour at most. */
  limits: MailLimits;
  sweepIntervalMs: number;
  eventRetentionMonths: number | undefined;
  /** Undefined where silent runs are left running. */
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
      what: "queues alerts that are owed and not in the queue",
      everyMs: deps.sweepIntervalMs,
      run: createSweepAlerts({ pool, queue, log }),
    },
    {
      name: "send-summaries",
      what: "tells accounts of the failed runs above their mail limits",
      everyMs: deps.sweepIntervalMs,
      run: createSendSummaries({ ...mailing, count: metrics.countSummary }),
    },
    {
      name: "purge-expired",
      what: "removes what is past its retention, and rows of deleted accounts and sites",
      everyMs: 3_600_000,
      run: createPurgeExpired({ pool, log, now, isStopping }),
    },
    {
      name: "keep-events",
      what: "makes the partitions of raw events ahead of time, removes months past their retention",
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
      name: "close-stale-runs",
      what: "closes running traces without a write for so long, and queues the mails that this owes",
      everyMs: staleRunsIntervalMs(staleAfterMs),
      run: createCloseStaleRuns({ pool, queue, log, staleAfterMs, isStopping }),
    });
  }
  const queued = {
    traceFinalized: {
      what: "sends the mail that a failed run owes, of the account whose turn it is",
      // Resend takes two mails a second; more in hand would only wait.
      concurrency: 4,
      run: createTakeTurn({
        pool,
        limits,
        log,
        send: createSendFailureMail({ ...mailing, count: metrics.countMail }),
        countHeld: metrics.countHeld,
      }),
    },
  } satisfies Record<string, QueuedJob>;
  return { periodic, queued };
}

interface QueuedJob {
  what: string;
  concurrency: number;
  run(payload: TraceFinalized): Promise<unknown>;
}
