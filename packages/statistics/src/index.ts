export { eventBounds, readCustomEvents } from "./custom-events.query.js";
export type { ListAnswer } from "./list-rows.js";
export { checkRange, defaultRange, type Range, rangeParameters, ranges, resolveRange } from "./range.js";
export { readInTime } from "./read-in-time.js";
export { readList, readStatistics, type Statistics } from "./read-statistics.js";
export { readRealtime, realtimeMinutes } from "./realtime.query.js";
export { listSites, requireSite } from "./sites.query.js";
export { csvType, writeCsv } from "./write-csv.js";
