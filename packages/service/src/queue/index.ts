export {
  createQueue,
  createWorker,
  type JobOutcome,
  type JobQueue,
  type JobWorker,
  type QueueServer,
  QueueUnavailableError,
} from "./queue.js";
export { migrateQueues, type QueueKind, queues } from "./queues.js";
