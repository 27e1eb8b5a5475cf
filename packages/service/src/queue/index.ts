export type { QueueServer } from "./choose-backend.js";
export { createQueue, type JobQueue, QueueUnavailableError } from "./create-queue.js";
export { createWorker, type JobOutcome, type JobWorker } from "./create-worker.js";
export { migrateQueues, type QueueKind, queues } from "./queues.js";
