export { type Channel, channels } from "./attribution/channels.js";
export { type CountryDirectory, openCountryDirectory } from "./attribution/country-directory.js";
export { loadReferrers, type ReferrerDirectory } from "./attribution/referrer-directory.js";
export { type Classification, createSourceClassifier } from "./attribution/source.js";
export { exportEvents } from "./import/export-events.query.js";
export {
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  ImportSuspendedError,
  importEvents,
  maxLineBytes,
} from "./import/import-events.js";
export { type PropertiesResult, readProperties } from "./import/import-line.schema.js";
export {
  type Beacon,
  type Collector,
  type CollectorOptions,
  createCollector,
  type DropReason,
} from "./live/collector.js";
export { WriterFullError, type WriterLimit } from "./live/event-capacity.js";
export { maxSitesPerDomain, SiteDirectoryFullError } from "./live/site-directory.js";
export { type PurgedEvents, purgeEvents } from "./maintenance/event-retention.query.js";
export {
  type RebuildOptions,
  type RebuildResult,
  RebuildRunningError,
  rebuildRollups,
} from "./maintenance/rebuild-rollups.js";
export type { Difference } from "./maintenance/rebuild-rollups.query.js";
export { createPartitions, type Partitions } from "./recording/partitions.query.js";
export { recordEvents } from "./recording/record-events.js";
export { eventBounds, type PropertyValue, type SiteEvent } from "./recording/site-event.js";
export { createSaltStore, hashVisitor, purgeSalts, type SaltStore, type Salts } from "./visitors/visitors.js";
