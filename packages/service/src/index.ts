export {
  ConfigError,
  commonVariables,
  durationVariable,
  integerVariable,
  portVariable,
  readEnv,
  urlVariable,
} from "./env.js";
export { ListenError, type Listening, type ListenOptions, listen } from "./listen.js";
export { createLogger } from "./logger.js";
export { createRegistry, observePool, type PoolCounts } from "./metrics.js";
export { type OperationsServerOptions, openOperationsServer } from "./operations-server.js";
export { type ReadinessChecks, readiness } from "./readiness.js";
export { type ProcessLike, type Running, runProcess } from "./run-process.js";
export {
  type HttpApp,
  type HttpServiceConfig,
  type HttpServiceOptions,
  type ServiceParts,
  startHttpService,
} from "./start-http-service.js";
