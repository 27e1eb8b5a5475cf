export {
  isPlanId,
  type Plan,
  type PlanId,
  planIds,
  planOf,
  plans,
  statisticsRequestsPerMinute,
  upgradePath,
} from "./plans.js";
export { type UtcMonth, utcMonth } from "./utc-month.js";
