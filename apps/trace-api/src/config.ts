import { cellSlotsVariable } from "@waymark/auth";
import {
  dashboardUrlVariable,
  databaseConfig,
  httpVariables,
  integerVariable,
  metricsConfig,
  portVariable,
  processesOf,
  readEnv,
} from "@waymark/service";

/**
 * Reads the configuration.
 * @throws ConfigError naming each missing or wrong variable
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...httpVariables,
    TRACE_API_PORT: portVariable(4100),
    TRACE_API_METRICS_PORT: portVariable(4101),
    BODY_LIMIT_BYTES: integerVariable({ min: 1_024, max: 64 * 1_048_576 }).default(4 * 1_048_576),
    TRACE_RATE_LIMIT_PER_SECOND: integerVariable({ min: 0, max: 1_000_000 }).default(2_000),
    DASHBOARD_URL: dashboardUrlVariable().optional(),
    CELL_SLOTS: cellSlotsVariable(),
  });
  return {
    http: { host: read.HOST, port: read.TRACE_API_PORT, bodyLimitBytes: read.BODY_LIMIT_BYTES },
    rateLimitPerSecond: read.TRACE_RATE_LIMIT_PER_SECOND,
    metrics: metricsConfig(read, "TRACE_API_METRICS_PORT", env),
    database: databaseConfig(read),
    processes: processesOf(read),
    redisUrl: read.REDIS_URL,
    dashboardUrl: read.DASHBOARD_URL,
    slots: read.CELL_SLOTS,
  };
}
