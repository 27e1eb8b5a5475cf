import { cellSlotsVariable } from "@waymark/auth";
import {
  ConfigError,
  dashboardUrlVariable,
  httpConfig,
  httpVariables,
  integerVariable,
  portVariable,
  readEnv,
} from "@waymark/service";
import { z } from "zod";

export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...httpVariables,
    TRACE_API_PORT: portVariable(4100),
    TRACE_API_METRICS_PORT: portVariable(4101),
    BODY_LIMIT_BYTES: integerVariable({ min: 1_024, max: 64 * 1_048_576 }).default(4 * 1_048_576),
    TRACE_RATE_LIMIT_PER_SECOND: integerVariable({ min: 0, max: 1_000_000 }).default(2_000),
    OTLP_GRPC_PORT: portVariable(4317),
    OTLP_GRPC_CERT: z.string().optional(),
    OTLP_GRPC_KEY: z.string().optional(),
    DASHBOARD_URL: dashboardUrlVariable().optional(),
    CELL_SLOTS: cellSlotsVariable(),
  });
  const { OTLP_GRPC_CERT: certFile, OTLP_GRPC_KEY: keyFile } = read;
  if (!certFile !== !keyFile) throw new ConfigError(["OTLP_GRPC_CERT and OTLP_GRPC_KEY must be set together"]);
  return {
    grpc: {
      host: read.HOST,
      port: read.OTLP_GRPC_PORT,
      isPortChosen: Boolean(env["OTLP_GRPC_PORT"]),
      tls: certFile && keyFile ? { certFile, keyFile } : undefined,
    },
    ...httpConfig(read, "TRACE_API", env),
    bodyLimitBytes: read.BODY_LIMIT_BYTES,
    rateLimitPerSecond: read.TRACE_RATE_LIMIT_PER_SECOND,
    redisUrl: read.REDIS_URL,
    dashboardUrl: read.DASHBOARD_URL,
    slots: read.CELL_SLOTS,
  };
}
