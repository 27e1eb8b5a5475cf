export type { Siblings } from "./cluster/siblings.js";
export { connectionLimits } from "./connections.js";
export {
  ConfigError,
  commonVariables,
  dashboardUrlVariable,
  databaseConfig,
  durationVariable,
  httpConfig,
  httpVariables,
  integerVariable,
  isLoopbackHost,
  metricsConfig,
  portVariable,
  readable,
  readEnv,
  urlVariable,
  writable,
} from "./env.js";
export { bind, createMessageClasses, isAddressInUse, type Listening, listen } from "./listen.js";
export { createLogger } from "./logger.js";
export { createAccepted, createRegistry } from "./metrics.js";
export { openDatabase } from "./open-stores.js";
export {
  answerReady,
  observeReadiness,
  openOperationsServer,
  type ReadinessChecks,
  readiness,
} from "./operations-server.js";
export { type ProcessLike, type Running, runProcess } from "./run-process.js";
export { findNotices, warnOfSettings } from "./setting-notices.js";
export { type FurtherServer, startHttpService } from "./start-http-service.js";
