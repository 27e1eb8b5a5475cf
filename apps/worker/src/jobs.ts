import {
  type AlertKey,
  evaluateRules,
  type MailLimits,
  type RuleSource,
  routeAlerts,
  ruleSources,
  tellRecoveries,
} from "@waymark/alerts";
import type { Mailer } from "@waymark/alerts/mail";
import { createDeliverer, createSendDelivery, post } from "@waymark/alerts/sending";
import type { Networks } from "@waymark/service/fields";
import { createWorker, type JobWorker, type QueueServer, queues } from "@waymark/service/queue";
import { storeDays } from "@waymark/web-stats/statistics";
import { createDropNoise, createSettleCalls, createStoreBlocks } from "./account-rounds.job.js";
import type { JobDeps } from "./job-deps.js";
import type { WorkerMetrics } from "./metrics.js";
import { createSendReports } from "./reports/send-reports.job.js";
import { createKeepEvents } from "./retention/keep-events.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import type { PeriodicJob } from "./run-periodically.js";
import { createCloseStaleTraces, staleTracesIntervalMs } from "./stale-traces/close-stale-traces.job.js";
import { createSumVisitCosts } from "./visit-costs/sum-visit-costs.job.js";

interface AllDeps extends JobDeps {
  queue: { add(alerts: readonly AlertKey[]): Promise<void> };
  mailer: Mailer;
  metrics: WorkerMetrics;
  dashboardUrl: string;
  limits: MailLimits;
  sweepIntervalMs: number;
  webhookNetworks: Networks;
  eventRetentionMonths: number | undefined;
  staleAfterMs: number;
  rootAfterMs: number;
}

/** Deliveries that a channel with each failure is owed at most. */
const maxPendingDeliveries = 20_000;
const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The table of the worker's jobs: one for each queue, and the periodic ones. The README says what each does. */
export function createJobs(deps: AllDeps) {
  const { sweepIntervalMs, pool } = deps;
  const { route, deliverer } = createRouting(deps);
  const queued = {
    traceFinalized: (server) => {
      const handler = ({ accountId }: AlertKey) => route(accountId);
      return createWorker(queues.traceFinalized, { ...server, concurrency: 4, handler });
    },
  } satisfies Record<keyof typeof queues, (server: QueueServer) => JobWorker>;
  const periodic: PeriodicJob[] = [
    { name: "route-alerts", everyMs: sweepIntervalMs, run: () => route() },
    { name: "tell-recoveries", everyMs: sweepIntervalMs, run: () => tellRecoveries(pool) },
    { name: "deliver-events", everyMs: secondMs, run: deliverer.start },
    { name: "evaluate-rules", everyMs: 10 * secondMs, run: () => evaluate(deps, ruleSources.short) },
    { name: "evaluate-costs", everyMs: 5 * minuteMs, run: () => evaluate(deps, ruleSources.long) },
    { name: "close-stale-traces", everyMs: staleTracesIntervalMs(deps), run: createCloseStaleTraces(deps) },
    { name: "drop-noise", everyMs: minuteMs, run: createDropNoise(deps) },
    { name: "settle-calls", everyMs: 10 * secondMs, run: createSettleCalls(deps) },
    { name: "purge-expired", everyMs: hourMs, run: createPurgeExpired(deps) },
    { name: "keep-events", everyMs: hourMs, run: createKeepEvents(deps) },
    { name: "send-reports", everyMs: 10 * minuteMs, run: createSendReports(deps) },
    { name: "store-days", everyMs: 10 * minuteMs, run: () => storeFinishedDays(deps) },
    { name: "sum-visit-costs", everyMs: 10 * minuteMs, run: createSumVisitCosts(deps) },
    { name: "store-blocks", everyMs: 10 * minuteMs, run: createStoreBlocks(deps) },
  ];
  // After a stop `drain` waits for the deliveries in hand.
  return { queued: Object.values(queued), periodic, drain: deliverer.drain };
}

/** Routes alerts to channels, of one account or of all, and delivers to these. */
function createRouting(deps: AllDeps) {
  const { pool, metrics, limits, isStopping } = deps;
  const deliverer = createDeliverer({
    ...deps,
    send: createSendDelivery({
      ...deps,
      post: (request) => post(request, { privateNetworks: deps.webhookNetworks }),
      count: metrics.countDelivery,
    }),
    countHeld: metrics.countHeld,
  });
  const bounds = { perHour: limits.perAccount, pending: maxPendingDeliveries };
  const route = async (accountId?: string) => {
    const routed = await routeAlerts(pool, { accountId, limits: bounds, isStopping });
    if (routed > 0) void deliverer.start().catch(() => undefined);
  };
  return { route, deliverer };
}

/** Several workers may do so at once. */
async function evaluate({ pool, log, now, isStopping }: JobDeps, sources: readonly RuleSource[]): Promise<void> {
  const changed = await evaluateRules(pool, { isStopping, now, sources });
  if (changed > 0) log.info({ changed }, "rules crossed or back");
}

async function storeFinishedDays({ pool, log, now, isStopping }: JobDeps): Promise<void> {
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM site ORDER BY id");
  const siteIds = rows.map(({ id }) => id);
  const days = await storeDays(pool, { siteIds, before: now().toISOString().slice(0, 10), isStopping });
  if (days > 0) log.info({ days }, "days stored as columns");
}
