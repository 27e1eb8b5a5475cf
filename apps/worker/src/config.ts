import { mailVariables, readMailSettings } from "@waymark/alerts/mail";
import {
  commonVariables,
  dashboardUrlVariable,
  databaseConfig,
  durationVariable,
  integerVariable,
  metricsConfig,
  portVariable,
  readEnv,
} from "@waymark/service";
import { networksVariable } from "@waymark/service/fields";

export type Config = ReturnType<typeof loadConfig>;

/** A trace that fails again and again is one piece of news; the account's limit bounds the mails. */
const mailsPerTraceAnHour = 5;
/** The longest that a mail waits whose job is lost. */
const sweepIntervalMs = 15_000;
const dayMs = 86_400_000;

export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...commonVariables,
    WORKER_METRICS_PORT: portVariable(4401),
    ...mailVariables(env),
    DASHBOARD_URL: dashboardUrlVariable().default("http://localhost:4000"),
    ALERT_MAILS_PER_ACCOUNT_PER_HOUR: integerVariable({ min: 1, max: 10_000 }).default(100),
    TRACE_STALE_AFTER: durationVariable({ min: "1s", max: "90d" }).default(dayMs),
    OTEL_ROOT_AFTER: durationVariable({ min: "1s", max: "1d" }).default(60_000),
    WEBHOOK_ALLOW_PRIVATE: networksVariable(),
    EVENT_RETENTION_MONTHS: integerVariable({ min: 1, max: 1_200 }).optional(),
  });
  return {
    metrics: metricsConfig(read, "WORKER_METRICS_PORT", env),
    database: databaseConfig(read),
    redisUrl: read.REDIS_URL,
    mail: {
      ...readMailSettings(read),
      dashboardUrl: read.DASHBOARD_URL,
      limits: {
        perTrace: mailsPerTraceAnHour,
        perAccount: read.ALERT_MAILS_PER_ACCOUNT_PER_HOUR,
      },
    },
    webhookNetworks: read.WEBHOOK_ALLOW_PRIVATE,
    eventRetentionMonths: read.EVENT_RETENTION_MONTHS,
    staleAfterMs: read.TRACE_STALE_AFTER,
    rootAfterMs: read.OTEL_ROOT_AFTER,
    notices: read.notices,
    sweepIntervalMs,
  };
}
