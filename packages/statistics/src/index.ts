export { type CustomEvent, eventBounds, readCustomEvents } from "./custom-events.query.js";
export type { ListAnswer, ListRow } from "./list-rows.js";
export {
  type AskedRange,
  checkRange,
  type Days,
  defaultRange,
  type Range,
  type ResolvedRange,
  rangeParameters,
  ranges,
  resolveRange,
} from "./range.js";
export { readInTime } from "./read-in-time.js";
export { readList, readStatistics, type Statistics, type StatisticsQuery } from "./read-statistics.js";
export { readRealtime, realtimeMinutes } from "./realtime.query.js";
export { listSites, requireSite, type Site } from "./sites.query.js";
export { csvType, writeCsv } from "./write-csv.js";
