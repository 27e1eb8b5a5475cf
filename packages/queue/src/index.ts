export type { QueueOptions } from "./choose-backend.js";
export { migrateQueue } from "./migrate-queue.js";
export type { TraceFinalized } from "./trace-finalized.schema.js";
export { createTraceFinalizedQueue, QueueUnavailableError, type TraceFinalizedQueue } from "./trace-finalized-queue.js";
export {
  createTraceFinalizedWorker,
  type JobOutcome,
  type TraceFinalizedWorker,
  type TraceFinalizedWorkerOptions,
} from "./trace-finalized-worker.js";
