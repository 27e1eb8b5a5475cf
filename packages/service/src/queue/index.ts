export {
  createQueue,
  createWorker,
  type JobOutcome,
  type JobWorker,
  type QueueServer,
  QueueUnavailableError,
} from "./queue.js";
export { migrateQueues, type QueueKind, queues } from "./queues.js";
