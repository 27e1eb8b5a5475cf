import { type BackendFactory, type IQueueBackend, type JobProgress, Worker, type WorkerOptions } from "bullmq";
import type { JobProcessor } from "./backend.js";

/**
 * Waits for work, but not longer than a time. The work itself goes on; it must be bounded by other means.
 * @throws Error with the message, when the time is over
 */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until work has succeeded or failed, but not longer than a time; whether it is over. */
export async function isOverWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const over = work.then(
    () => true,
    () => true,
  );
  return withDeadline(over, timeoutMs, "").catch(() => false);
}

/** Waits a time; an abort of the signal ends the wait early, without an error. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener("abort", finish);
  });
}

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
