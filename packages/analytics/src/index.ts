export { type Channel, channels } from "./channels.js";
export { type Beacon, type Collector, type CollectorOptions, createCollector, type DropReason } from "./collector.js";
export { type CountryDirectory, openCountryDirectory } from "./country/country-directory.js";
export { type PurgedEvents, purgeEvents } from "./event-retention.query.js";
export { exportEvents } from "./export-events.query.js";
export {
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  ImportSuspendedError,
  importEvents,
  maxLineBytes,
} from "./import-events.js";
export { type PropertiesResult, readProperties } from "./import-line.schema.js";
export { createPartitions, type Partitions } from "./partitions.query.js";
export { type RebuildOptions, type RebuildResult, RebuildRunningError, rebuildRollups } from "./rebuild-rollups.js";
export type { Difference } from "./rebuild-rollups.query.js";
export { recordEvents } from "./record-events.js";
export { loadReferrers, type ReferrerDirectory } from "./referrer-directory.js";
export { maxSitesPerDomain, SiteDirectoryFullError } from "./site-directory.js";
export { eventBounds, otherValue, type PropertyValue, type SiteEvent } from "./site-event.js";
export { type Classification, createSourceClassifier } from "./source.js";
export { createSaltStore, hashVisitor, purgeSalts, type SaltStore, type Salts } from "./visitors.js";
export { WriterFullError, type WriterLimit } from "./waiting-events.js";
