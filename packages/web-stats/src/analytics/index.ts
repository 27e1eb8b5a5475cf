export { type CountryDirectory, openCountryDirectory } from "./attribution/country-directory.js";
export { exportNames, type FormatName, formatNames } from "./formats/format.js";
export { isLog } from "./formats/open-format.js";
export { ImportSuspendedError } from "./import/copy-connection.js";
export { exportEvents } from "./import/export-events.query.js";
export { importEvents } from "./import/import-events.js";
export { type ImportProgress, noProgress } from "./import/import-options.js";
export { importRollups } from "./import/import-rollups.js";
export { SiteDeletedError } from "./import/write-batches.js";
export { WriterFullError } from "./live/event-writer.js";
export { createRecorder, type Recorder } from "./live/recorder.js";
export {
  createSiteDirectory,
  isContestedSql,
  maxSitesPerDomain,
  SiteDirectoryFullError,
} from "./live/site-directory.js";
export { purgeEvents } from "./maintenance/event-retention.query.js";
export { RebuildRunningError, rebuildRollups } from "./maintenance/rebuild-rollups.js";
export type { Difference } from "./maintenance/rebuild-rollups.query.js";
export { keepVisitorDays } from "./maintenance/visitor-days.query.js";
export { readProperties, readRevenue } from "./recording/event-values.js";
export { createPartitions, type Partitions } from "./recording/partitions.query.js";
export { lockSites } from "./recording/record-events.query.js";
export { eventBounds, type PropertyValue, type Revenue } from "./recording/site-event.js";
export { purgeSalts } from "./visitors/salts.query.js";
