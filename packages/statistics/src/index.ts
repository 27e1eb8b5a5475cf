export { listSites, requireSite, type Site } from "./find-site.query.js";
export { foldedNote } from "./other-value.js";
export {
  type AskedRange,
  checkRange,
  type Days,
  listDays,
  previousDays,
  rangeParameters,
  resolveRange,
} from "./range.js";
export { type EventRow, eventBounds, readEvents } from "./read-events.query.js";
export { readRealtime } from "./read-realtime.query.js";
export { readStats, type StatRow } from "./read-stats.query.js";
export {
  contractLists,
  findList,
  furtherLists,
  type ListName,
  lists,
  presentList,
  type StatList,
} from "./stat-lists.js";
export { readInTime } from "./too-much.js";
export { csvType, writeCsv } from "./write-csv.js";
