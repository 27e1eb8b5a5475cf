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
  upgradePath,
} from "./plans.js";
export { type UtcMonth, utcMonth } from "./utc-month.js";
