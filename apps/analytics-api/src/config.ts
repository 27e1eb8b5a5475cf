import { cellSlotsVariable } from "@waymark/auth";
import { dashboardUrlVariable, httpConfig, httpVariables, portVariable, readEnv } from "@waymark/service";

export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...httpVariables,
    ANALYTICS_API_PORT: portVariable(4200),
    ANALYTICS_API_METRICS_PORT: portVariable(4201),
    DASHBOARD_URL: dashboardUrlVariable().optional(),
    CELL_SLOTS: cellSlotsVariable(),
  });
  return {
    ...httpConfig(read, "ANALYTICS_API", env),
    redisUrl: read.REDIS_URL,
    dashboardUrl: read.DASHBOARD_URL,
    slots: read.CELL_SLOTS,
  };
}
