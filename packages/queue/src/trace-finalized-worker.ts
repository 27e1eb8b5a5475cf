import { DelayedError, type Job } from "bullmq";
import type { Logger } from "pino";
import type { OpenedWorker, WorkerSettings } from "./backend.js";
import { chooseBackend, type QueueOptions } from "./choose-backend.js";
import { isOverWithin, pause } from "./deadline.js";
import { createServerState } from "./server-state.js";
import { type TraceFinalized, traceFinalizedSchema } from "./trace-finalized.schema.js";

/** How a job ended: it is never run again, or it is run again after a time. */
export type JobOutcome = "done" | { retryAfterMs: number };

export interface TraceFinalizedWorkerOptions extends QueueOptions {
  /** Does the work of one job. What it throws is logged, and the job is run again later, without end. */
  handler(payload: TraceFinalized): Promise<JobOutcome>;
  /** Jobs in hand at once. */
  concurrency: number;
}

/** The working side of the queue. */
export interface TraceFinalizedWorker {
  /**
   * Takes no further job, lets those in hand finish for as long as given, and ends the connections: in order within
   * three seconds more, or else at once. A job that did not finish is run again elsewhere. Closing twice is closing once.
   */
  close(drainTimeoutMs: number): Promise<void>;
}

/** A job whose worker died is taken over after one to three of these: its lock runs out, and the next check sees it. */
const lockMs = 20_000;

/** After the jobs in hand are finished, how long the rest of closing may take. */
const closeTimeoutMs = 3_000;

/** Between attempts to open a worker. */
const reopenDelayMs = 1_000;

/**
 * Runs jobs until it is closed. It connects in the background, and goes on when its server went away and came back,
 * also with all jobs lost: what is owed is queued again by the sweep.
 */
export function createTraceFinalizedWorker(options: TraceFinalizedWorkerOptions): TraceFinalizedWorker {
  const { log } = options;
  const backend = chooseBackend(options);
  const closing = new AbortController();
  const state = createServerState(log, closing.signal);
  const inHand = new Set<Promise<void>>();

  const process = (job: Job, token: string) => {
    const work = runJob(job, token, options.handler, log);
    inHand.add(work);
    const forget = () => inHand.delete(work);
    work.then(forget, forget);
    return work;
  };
  const settings: WorkerSettings = {
    concurrency: options.concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    // However often workers die on a job, it goes on: what ends an alert is counted in its row.
    maxStalledCount: 1_000,
    // A job is announced; this is for one whose announcement was lost.
    drainDelay: 5,
    runRetryDelay: 1_000,
    autorun: false,
  };
  const open = () => backend.openWorker(process, settings, state);
  let opened = open();
  let closed: Promise<void> | undefined;

  const run = async () => {
    while (!closing.signal.aborted) {
      try {
        await opened.worker.waitUntilReady();
        await opened.worker.run();
        return;
      } catch (error) {
        state.down(error);
        await end(opened);
        await pause(reopenDelayMs, closing.signal);
        if (!closing.signal.aborted) opened = open();
      }
    }
  };
  const close = async (drainTimeoutMs: number) => {
    closing.abort();
    void opened.worker.close();
    const isDrained = await isOverWithin(Promise.allSettled(inHand), drainTimeoutMs);
    if (isDrained) await end(opened);
    else opened.cut();
  };

  void run();
  return {
    close(drainTimeoutMs) {
      closed ??= close(drainTimeoutMs);
      return closed;
    },
  };
}

async function end({ worker, cut }: OpenedWorker): Promise<void> {
  await isOverWithin(worker.close(), closeTimeoutMs);
  cut();
}

async function runJob(
  job: Job,
  token: string,
  handler: TraceFinalizedWorkerOptions["handler"],
  log: Logger,
): Promise<void> {
  const payload = traceFinalizedSchema.safeParse(job.data);
  if (!payload.success) {
    log.error({ jobId: job.id, problem: payload.error.message }, "job dropped: its payload is not one of ours");
    return;
  }
  let outcome: JobOutcome;
  try {
    outcome = await handler(payload.data);
  } catch (error) {
    const retryAfterMs = unexpectedDelayMs(job.attemptsStarted);
    log.error({ err: error, alertId: payload.data.alertId, retryAfterMs }, "job failed unexpectedly");
    outcome = { retryAfterMs };
  }
  if (outcome === "done") return;
  const { retryAfterMs } = outcome;
  await job.moveToDelayed(Date.now() + retryAfterMs, token).catch((error) => {
    log.warn({ err: error, alertId: payload.data.alertId }, "job not put back: it is run again once its lock runs out");
  });
  // Also when the server did not take it: any other error would make BullMQ drop the job as failed.
  throw new DelayedError();
}

/** One second after the first start, doubled with each, five minutes at most. */
function unexpectedDelayMs(starts: number): number {
  return Math.min(1_000 * 2 ** Math.min(Math.max(starts - 1, 0), 20), 300_000);
}
