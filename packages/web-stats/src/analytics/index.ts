export { maxListBytes, readMachineList } from "./attribution/check-machine-list.js";
export { type CountryDirectory, openCountryDirectory } from "./attribution/country-directory.js";
export { lookupOptions, type NameResolver } from "./attribution/machine-names.js";
export { machinesOf, storeMachineList } from "./attribution/machine-store.query.js";
export { exportNames, formatNames } from "./formats/format.js";
export { isLog } from "./formats/open-format.js";
export { exportEvents } from "./import/export-events.query.js";
export { FollowedTwiceError, followLog } from "./import/follow-log.js";
export { importEvents } from "./import/import-events.js";
export { importRollups } from "./import/import-rollups.js";
export { type ImportProgress, noProgress } from "./import/reader-services.js";
export { createRequestRecorder, type RequestRecorder } from "./import/request-recorder.js";
export { ImportSuspendedError, SiteDeletedError } from "./import/write-batches.js";
export { createRecorder, type Recorder } from "./live/recorder.js";
export {
  createSiteDirectory,
  isContestedSql,
  maxSitesPerDomain,
  SiteDirectoryFullError,
} from "./live/site-directory.js";
export { keepVisitorDays, purgeEvents } from "./maintenance/event-retention.query.js";
export { RebuildRunningError, rebuildRollups } from "./maintenance/rebuild-rollups.js";
export type { Difference } from "./maintenance/rebuild-rollups.query.js";
export { createPartitions, lockSites } from "./recording/record-events.query.js";
export { WriterFullError } from "./recording/site-commit.js";
export { eventBounds, type PropertyValue, type Revenue, readProperties, readRevenue } from "./recording/site-event.js";
export { purgeSalts } from "./visitors/hash-visitor.js";
export { visitHashSql, visitKeys } from "./visitors/visit-token.js";
