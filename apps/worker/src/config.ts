import { resolve } from "node:path";
import {
  commonVariables,
  durationVariable,
  integerVariable,
  portVariable,
  readEnv,
  urlVariable,
} from "@waymark/service";
import { z } from "zod";

/** The worker's configuration; the table in the root README explains each variable. */
export type Config = ReturnType<typeof loadConfig>;

/** `name@host` or `Name <name@host>`, on one line: Resend checks the rest. */
const sender = z
  .string()
  .max(320)
  .regex(/^(?:[^<>\r\n]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)$/, "must be like 'Waymark <alerts@example.com>'");

/**
 * Reads the configuration.
 * @throws ConfigError naming every missing or wrong variable
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...commonVariables,
    WORKER_METRICS_PORT: portVariable(4401),
    RESEND_API_KEY: z.string().optional(),
    RESEND_BASE_URL: urlVariable(["https:", "http:"]).default("https://api.resend.com"),
    // Resend sends from verified domains only, so no default works with its key.
    ALERT_FROM: env["RESEND_API_KEY"] ? sender : sender.default("Waymark <alerts@localhost>"),
    DASHBOARD_URL: urlVariable(["https:", "http:"]).default("http://localhost:4100"),
    ALERT_MAILS_PER_TRACE_PER_HOUR: integerVariable({ min: 1, max: 1_000 }).default(5),
    ALERT_MAILS_PER_ACCOUNT_PER_HOUR: integerVariable({ min: 1, max: 10_000 }).default(100),
    SWEEP_INTERVAL_SECONDS: integerVariable({ min: 1, max: 3_600 }).default(15),
    TRACE_STALE_AFTER: durationVariable({ min: "1s", max: "90d" }).optional(),
    EVENT_RETENTION_MONTHS: integerVariable({ min: 1, max: 1_200 }).optional(),
    WAYMARK_DATA_DIR: z.string().default(".waymark"),
  });
  return {
    metrics: {
      host: read.METRICS_HOST,
      port: read.WORKER_METRICS_PORT,
      isPortChosen: Boolean(env["WORKER_METRICS_PORT"]),
    },
    database: { url: read.DATABASE_URL, maxConnections: read.DATABASE_POOL_SIZE },
    redisUrl: read.REDIS_URL,
    mail: {
      from: read.ALERT_FROM,
      dashboardUrl: read.DASHBOARD_URL.replace(/\/+$/, ""),
      resend: read.RESEND_API_KEY
        ? { apiKey: read.RESEND_API_KEY, baseUrl: read.RESEND_BASE_URL.replace(/\/+$/, "") }
        : undefined,
      folder: resolve(read.WAYMARK_DATA_DIR, "mails"),
      limits: {
        perTrace: read.ALERT_MAILS_PER_TRACE_PER_HOUR,
        perAccount: read.ALERT_MAILS_PER_ACCOUNT_PER_HOUR,
      },
    },
    eventRetentionMonths: read.EVENT_RETENTION_MONTHS,
    staleAfterMs: read.TRACE_STALE_AFTER,
    sweepIntervalMs: read.SWEEP_INTERVAL_SECONDS * 1_000,
  };
}
