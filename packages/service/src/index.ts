export {
  ConfigError,
  commonVariables,
  dashboardUrlVariable,
  durationVariable,
  integerVariable,
  portVariable,
  readEnv,
  urlVariable,
} from "./env.js";
export { type Listening, listen } from "./listen.js";
export { createLogger } from "./logger.js";
export { createRegistry, observePool } from "./metrics.js";
export { openOperationsServer } from "./operations-server.js";
export { type ReadinessChecks, readiness } from "./readiness.js";
export { type Running, runProcess } from "./run-process.js";
export { startHttpService } from "./start-http-service.js";
