export { createDayColumns } from "./columns/day-columns.js";
export { findWrongDays, storeDays } from "./columns/store-days.js";
export { type Comparison, comparisons } from "./comparison.js";
export { costDimensions, storeCosts } from "./costs/costs.query.js";
export { type CostFigures, costFigures, readCosts } from "./costs/read-costs.js";
export { sumCosts, type VisitRuns } from "./costs/sum-costs.js";
export { type CustomEvent, customEvent, eventBounds, readEvents } from "./custom-events.query.js";
export { hasEvents, readDays } from "./days.query.js";
export { engagementNeeds } from "./engagement.query.js";
export { createFigureMemory, type FigureMemory } from "./figure-memory.js";
export { type Filter, FilterError, filterDimensions, operators, parseFilters } from "./filters/filter.js";
export {
  changeFunnel,
  changeGoal,
  createFunnel,
  createGoal,
  deleteFunnel,
  deleteGoal,
  funnelInput,
  funnelSteps,
  goalInput,
  listFunnels,
  listGoals,
} from "./goals/goals.query.js";
export {
  countRule,
  funnelFigures,
  goalFigures,
  readFunnel,
  readFunnels,
  readFunnelsBefore,
  readGoals,
  readGoalsBefore,
} from "./goals/read-goals.js";
export { csvType, type ListAnswer, writeCsv, writeTable } from "./list-rows.js";
export { readMachineDays } from "./machines/machine-figures.query.js";
export { createMachineMemory, type MachineMemory } from "./machines/machine-memory.js";
export {
  aiFigures,
  aiFiltersParameter,
  aiIntervals,
  aiListsParameter,
  readAi,
  readAiSeries,
  writeAiCsv,
} from "./machines/read-ai.js";
export { type AskedMetric, askedNames, engagementNames, type Metric, metricNames, visitSql } from "./metrics.js";
export {
  checkRange,
  countAskedDays,
  coverageAnswer,
  defaultRange,
  filtersParameter,
  limitParameter,
  listsParameter,
  metricsParameter,
  previousDays,
  type Range,
  rangeAnswer,
  rangeParameters,
  rangeQuery,
  ranges,
  readInTime,
  resolveRange,
} from "./range.js";
export { createOverviewReader, type Figures, type Overview } from "./read-overview.js";
export {
  type Asker,
  listSites,
  readOwnColumns,
  readOwnSite,
  requireSite,
  type Site,
  type StatisticsDeps,
} from "./read-own-site.js";
export {
  type Filtering,
  intervals,
  maxDaysByHour,
  readList,
  readStatistics,
  type Statistics,
} from "./read-statistics.js";
export { readRealtime, realtimeMinutes } from "./realtime.query.js";
export { readCoverage } from "./statistics.query.js";
export { createReadShares } from "./work.js";
