import { type BackendFactory, type IQueueBackend, type JobProgress, Worker, type WorkerOptions } from "bullmq";
import type { JobProcessor } from "./backend.js";
import { queueName } from "./trace-finalized.schema.js";

/**
 * BullMQ's worker on our queue, with a way to end its timers. Its own `close` hangs before it comes to them when the
 * server is away or a job does not end: it waits for the end of a connection that has ended, or for the job.
 */
export class CuttableWorker<B extends IQueueBackend, C> extends Worker<unknown, void, string, B, JobProgress, C> {
  constructor(process: JobProcessor, options: WorkerOptions<C>, createBackend: BackendFactory<B, C>) {
    super(queueName, (job, token = "") => process(job, token), options, createBackend);
    const check = this.backend.moveStalledJobsToWait.bind(this.backend);
    // After a check that failed BullMQ waits five seconds, which nothing ends; after one that found nothing it does not.
    this.backend.moveStalledJobsToWait = () =>
      check().catch((error) => {
        this.emit("error", error);
        return [];
      });
  }

  /** Ends the timer that renews locks and the one that looks for stalled jobs. */
  stopTimers(): void {
    void this.lockManager.close();
    void this.pause(true);
  }
}
