import { type AlertKey, type MailLimits, type QueueAlertsDeps, routeAlerts, tellRecoveries } from "@waymark/alerts";
import type { Mailer } from "@waymark/alerts/mail";
import { createDeliverer, createSendDelivery, post } from "@waymark/alerts/sending";
import type { Networks } from "@waymark/service/fields";
import { queues } from "@waymark/service/queue";
import { createPartitions } from "@waymark/web-stats/analytics";
import type pg from "pg";
import type { Logger } from "pino";
import { createStoreBlocks } from "./blocks/store-blocks.job.js";
import type { WorkerMetrics } from "./metrics.js";
import { createSettleCalls } from "./model-calls/settle-calls.job.js";
import { type QueuedJob, queuedJob } from "./queued-job.js";
import { createKeepEvents } from "./retention/keep-events.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import { createStoreDays } from "./retention/store-days.job.js";
import { createEvaluateRules } from "./rules/evaluate-rules.job.js";
import type { PeriodicJob } from "./run-periodically.js";
import { createCloseStaleTraces, staleTracesIntervalMs } from "./stale-traces/close-stale-traces.job.js";

interface JobDeps {
  pool: pg.Pool;
  queue: QueueAlertsDeps["queue"];
  mailer: Mailer;
  metrics: WorkerMetrics;
  log: Logger;
  dashboardUrl: string;
  limits: MailLimits;
  sweepIntervalMs: number;
  /** The private networks that channels may be in. */
  webhookNetworks: Networks;
  eventRetentionMonths: number | undefined;
  /** Undefined: stale traces stay running. */
  staleAfterMs: number | undefined;
  now(): Date;
  isStopping(): boolean;
}

interface Jobs {
  queued: QueuedJob[];
  periodic: PeriodicJob[];
  /** After a stop: waits for the deliveries in hand. */
  drain(): Promise<void>;
}

/** Deliveries that a channel with each failure is owed at most. */
const maxPendingDeliveries = 20_000;
const secondMs = 1_000;
const settleCallsIntervalMs = 10_000;
const evaluateRulesIntervalMs = 10_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The table of the worker's jobs: one for each queue, and the periodic ones. */
export function createJobs(deps: JobDeps): Jobs {
  const { pool, queue, log, staleAfterMs, isStopping } = deps;
  const channels = createChannelJobs(deps);
  const queued = {
    traceFinalized: queuedJob(queues.traceFinalized, {
      what: "gives the account's new alerts to its channels, and starts to deliver",
      concurrency: 4,
      run: async ({ accountId }: AlertKey) => {
        await channels.route(accountId);
        return "done";
      },
    }),
  } satisfies Record<keyof typeof queues, QueuedJob>;
  const periodic: PeriodicJob[] = [
    ...channels.periodic,
    {
      name: "settle-calls",
      what: "books new model calls in the daily sums of tokens and cost",
      everyMs: settleCallsIntervalMs,
      run: createSettleCalls({ pool, log, isStopping }),
    },
    ...createRetentionJobs(deps),
  ];
  if (staleAfterMs !== undefined) {
    periodic.push({
      name: "close-stale-traces",
      what: "sets running traces without a write for so long to timeout, and queues their alerts",
      everyMs: staleTracesIntervalMs(staleAfterMs),
      run: createCloseStaleTraces({ pool, queue, log, staleAfterMs, isStopping }),
    });
  }
  return { queued: Object.values(queued), periodic, drain: channels.drain };
}

/** Removes what is past its time, and stores what is finished. */
function createRetentionJobs({ pool, log, now, isStopping, eventRetentionMonths }: JobDeps): PeriodicJob[] {
  return [
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
        retentionMonths: eventRetentionMonths,
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
    {
      name: "store-blocks",
      what: "summarizes traces older than an hour in blocks, which searches skip",
      everyMs: 10 * minuteMs,
      run: createStoreBlocks({ pool, log, isStopping }),
    },
  ];
}

/** Routes alerts to channels, and delivers to these. */
function createChannelJobs(deps: JobDeps) {
  const { pool, log, metrics, limits, isStopping } = deps;
  const deliverer = createDeliverer({
    ...deps,
    send: createSendDelivery({
      ...deps,
      post: (request) => post(request, { privateNetworks: deps.webhookNetworks }),
      count: metrics.countDelivery,
    }),
    countHeld: metrics.countHeld,
  });
  const route = async (accountId?: string) => {
    const bounds = { perHour: limits.perAccount, pending: maxPendingDeliveries };
    const routed = await routeAlerts(pool, { accountId, limits: bounds, isStopping });
    if (routed > 0) void deliverer.start().catch(() => undefined);
    return { routed };
  };
  const periodic: PeriodicJob[] = [
    {
      name: "route-alerts",
      what: "gives new alerts to the channels of their accounts, also those whose job is lost",
      everyMs: deps.sweepIntervalMs,
      run: () => route(),
    },
    {
      name: "tell-recoveries",
      what: "tells agents' next successes after failures",
      everyMs: deps.sweepIntervalMs,
      run: () => tellRecoveries(pool),
    },
    {
      name: "deliver-events",
      what: "delivers due events to channels",
      everyMs: secondMs,
      run: deliverer.start,
    },
    {
      name: "evaluate-rules",
      what: "tells accounts when an agent's failure rate crosses a rule, and when it is back",
      everyMs: evaluateRulesIntervalMs,
      run: createEvaluateRules({ pool, log, isStopping }),
    },
  ];
  return { periodic, route, drain: deliverer.drain };
}
