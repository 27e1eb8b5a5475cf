export {
  createQueue,
  createWorker,
  type JobWorker,
  type QueueServer,
  QueueUnavailableError,
} from "./queue.js";
export { migrateQueues, queues } from "./queues.js";
