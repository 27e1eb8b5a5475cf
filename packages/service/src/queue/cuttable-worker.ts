import { type BackendFactory, type IQueueBackend, type JobProgress, Worker, type WorkerOptions } from "bullmq";
import type { JobProcessor } from "./backend.js";

/**
 * BullMQ's worker with a way to end its timers. When the server is away or a job does not end, BullMQ's own `close` hangs
 * before it ends them: it waits for the end of an ended connection, or for the job.
 */
export class CuttableWorker<B extends IQueueBackend, C> extends Worker<unknown, void, string, B, JobProgress, C> {
  constructor(
    queueName: string,
    process: JobProcessor,
    options: WorkerOptions<C>,
    createBackend: BackendFactory<B, C>,
  ) {
    super(queueName, (job, token = "") => process(job, token), options, createBackend);
    const check = this.backend.moveStalledJobsToWait.bind(this.backend);
    // BullMQ waits five seconds after a failed check, and nothing ends this wait; it does not after an empty one.
    this.backend.moveStalledJobsToWait = () =>
      check().catch((error) => {
        this.emit("error", error);
        return [];
      });
  }

  /** Ends the timers for renewing locks and finding stalled jobs. */
  stopTimers(): void {
    void this.lockManager.close();
    void this.pause(true);
  }
}
