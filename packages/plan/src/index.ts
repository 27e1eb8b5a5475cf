export {
  isPlanId,
  type Plan,
  type PlanId,
  planIds,
  planOf,
  plans,
  remainingBytes,
  remainingTraces,
  statisticsRequestsPerMinute,
  type UtcMonth,
  upgradePath,
  utcMonth,
} from "./plans.js";
