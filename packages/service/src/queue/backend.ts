import { setTimeout as wait } from "node:timers/promises";
import {
  type BackendFactory,
  type IQueueBackend,
  type Job,
  type JobProgress,
  type JobsOptions,
  type Queue,
  Worker,
  type WorkerOptions,
} from "bullmq";
import type { Logger } from "pino";
import { withDeadline } from "../process/with-deadline.js";

export interface ServerState {
  /** Aborted once this side closes. */
  readonly closing: AbortSignal;
  up(): void;
  down(error: unknown): void;
  /** An error without meaning for the server's state, such as a missing job. */
  oddity(error: unknown): void;
}

/** The same oddity is logged once in this time. */
const quietMs = 60_000;

/** Oddities to remember at most: their texts hold job ids, so their number is not bounded. */
const maxRemembered = 100;

/** Logs when the server goes and comes back, no single attempt, and nothing once closing: connections end then. */
export function createServerState(log: Logger, closing: AbortSignal): ServerState {
  let isDown = false;
  const loggedAt = new Map<string, number>();
  return {
    closing,
    up() {
      if (isDown && !closing.aborted) log.info("queue is up again");
      isDown = false;
    },
    down(error) {
      if (!isDown && !closing.aborted) {
        log.warn({ err: error }, "queue is down: its work waits in the database, connecting goes on");
      }
      isDown = true;
    },
    oddity(error) {
      const text = error instanceof Error ? error.message : String(error);
      const now = Date.now();
      if (isDown || closing.aborted || now - (loggedAt.get(text) ?? 0) < quietMs) return;
      if (loggedAt.size >= maxRemembered) loggedAt.clear();
      loggedAt.set(text, now);
      log.warn({ err: error }, "queue reported an error");
    },
  };
}

export interface QueueBackend {
  /** Opens the adding side of a queue. Connects in the background, and keeps trying. */
  openProducer(queueName: string, state: ServerState): Producer;
  /** Makes a worker; it connects and does not run yet. */
  openWorker(queueName: string, process: JobProcessor, settings: WorkerSettings, state: ServerState): OpenedWorker;
}

export interface Producer {
  /** The queue, once its server answered; rejects at once while the server is known to be down. */
  queue(): Promise<ProducerQueue>;
  /** Rejects if the server takes no write now: a Redis that is a replica, or whose disk is full, still answers reads. */
  check(): Promise<unknown>;
  /** Closes in order; hangs for as long as the server does. */
  close(): Promise<void>;
  /** Ends at once all connections left open by `close`, and later ones. */
  cut(): void;
}

export type ProducerQueue = Pick<Queue, "getWaitingCount" | "addBulk" | "close">;

export type JobProcessor = (job: Job, token: string) => Promise<void>;

export type WorkerSettings = Pick<
  Required<WorkerOptions<unknown>>,
  "concurrency" | "lockDuration" | "stalledInterval" | "maxStalledCount" | "drainDelay" | "runRetryDelay" | "autorun"
>;

export interface OpenedWorker {
  /** Its `close` takes no further job at once, and hangs for as long as its jobs or the server do. */
  readonly worker: Pick<Worker, "waitUntilReady" | "run" | "close">;
  cut(): void;
}

/** Events that a queue keeps: nobody reads them, so only enough to look at by hand. */
export const keptEvents = 100;

/** Finished jobs leave nothing behind: a remembered one would refuse its id when a sweep adds it again. */
export const jobOptions = { removeOnComplete: true, removeOnFail: true } as const satisfies JobsOptions;

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
  return wait(delayMs, undefined, { signal }).catch(() => undefined);
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
