import { cellSlotsVariable } from "@waymark/auth";
import {
  dashboardUrlVariable,
  databaseConfig,
  httpVariables,
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
    ANALYTICS_API_PORT: portVariable(4200),
    ANALYTICS_API_METRICS_PORT: portVariable(4201),
    DASHBOARD_URL: dashboardUrlVariable().optional(),
    CELL_SLOTS: cellSlotsVariable(),
  });
  return {
    http: { host: read.HOST, port: read.ANALYTICS_API_PORT },
    metrics: metricsConfig(read, "ANALYTICS_API_METRICS_PORT", env),
    database: databaseConfig(read),
    processes: processesOf(read),
    redisUrl: read.REDIS_URL,
    dashboardUrl: read.DASHBOARD_URL,
    slots: read.CELL_SLOTS,
  };
}
