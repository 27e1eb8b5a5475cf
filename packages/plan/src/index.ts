export {
  isPlanId,
  type Plan,
  type PlanId,
  planIds,
  planOf,
  plans,
  remainingTraces,
  statisticsRequestsPerMinute,
  upgradePath,
} from "./plans.js";
export { type UtcMonth, utcMonth } from "./utc-month.js";
