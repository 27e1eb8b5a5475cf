import { DelayedError, type Job } from "bullmq";
import type { Logger } from "pino";
import { withDeadline } from "../process/with-deadline.js";
import {
  createServerState,
  isOverWithin,
  jobOptions,
  type OpenedWorker,
  type ProducerQueue,
  pause,
  type QueueBackend,
  type WorkerSettings,
} from "./backend.js";
import { createPostgresQueueBackend } from "./postgres-backend.js";
import type { QueueKind } from "./queues.js";
import { createRedisQueueBackend } from "./redis-backend.js";

export interface JobQueue<Payload extends object> {
  /** Leaves queued jobs alone. @throws QueueUnavailableError within ten seconds, when the server does not take them */
  add(payloads: readonly Payload[]): Promise<void>;
  check(): Promise<void>;
  /** Closes the connections within two seconds, for good: from then on `add` rejects. */
  close(): Promise<void>;
}

/** The queue's server cannot be reached or refuses. A sweep adds the jobs later. */
export class QueueUnavailableError extends Error {
  override name = "QueueUnavailableError";
}

const timeoutMs = 2_000;

/**
 * How long one addition may take. Nobody waits for it, and hundreds of jobs take a busy server a while, so a shorter time would
 * call the server down. The caller has the work in the database and loses nothing by giving up.
 */
const addTimeoutMs = 10_000;

/** Connects in the background, fails fast while the server is down, keeps nothing in memory, recovers by itself. */
export function createQueue<Payload extends object>(kind: QueueKind<Payload>, server: QueueServer): JobQueue<Payload> {
  const closing = new AbortController();
  const state = createServerState(server.log.child({ queue: kind.name }), closing.signal);
  const producer = chooseBackend(server).openProducer(kind.name, state);
  const toJob = (payload: Payload) => ({
    name: kind.name,
    data: payload,
    opts: { ...jobOptions, jobId: kind.jobIdOf(payload) },
  });
  let closed: Promise<void> | undefined;
  const use = async (work: (queue: ProducerQueue) => Promise<unknown>, limitMs: number) => {
    if (closing.signal.aborted) throw new QueueUnavailableError("The queue is closed");
    try {
      await withDeadline(producer.queue().then(work), limitMs, `The queue did not answer within ${limitMs} ms`);
      state.up();
    } catch (error) {
      state.down(error);
      throw new QueueUnavailableError("The queue cannot be used now", { cause: error });
    }
  };
  const close = async () => {
    closing.abort();
    await isOverWithin(producer.close(), timeoutMs);
    producer.cut();
  };
  return {
    add: (payloads) => use((queue) => queue.addBulk(payloads.map(toJob)), addTimeoutMs),
    check: () => use(() => producer.check(), timeoutMs),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

export interface QueueServer {
  /** A `redis://` or `rediss://` URL; without one the queues are in Postgres. */
  redisUrl?: string | undefined;
  databaseUrl: string;
  log: Logger;
}

/** Chooses the server: Redis if configured, otherwise Postgres. No other code knows the choice. */
function chooseBackend(server: QueueServer): QueueBackend {
  if (server.redisUrl) return createRedisQueueBackend(server.redisUrl);
  return createPostgresQueueBackend(server.databaseUrl);
}

export interface WorkerOptions<Payload extends object> extends QueueServer {
  /** Does one job. The worker logs an error of it and runs the job again later, without end. */
  handler(payload: Payload): Promise<unknown>;
  concurrency: number;
}

export interface JobWorker {
  /**
   * Takes no further job, waits so long for the jobs in hand, and ends the connections: in order within three seconds more,
   * otherwise at once. Another worker repeats unfinished jobs. A second call returns the first one's promise.
   */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Another worker takes over a dead one's job after one to three of these: when the lock ran out, at the next check. */
const lockMs = 20_000;

/** How long closing may take after the jobs in hand have finished. */
const closeTimeoutMs = 3_000;

const reopenDelayMs = 1_000;

/** Runs a queue's jobs until it is closed. It connects in the background and continues when the server was away. */
export function createWorker<Payload extends object>(
  kind: QueueKind<Payload>,
  options: WorkerOptions<Payload>,
): JobWorker {
  const log = options.log.child({ queue: kind.name });
  const backend = chooseBackend(options);
  const closing = new AbortController();
  const state = createServerState(log, closing.signal);
  const inHand = new Set<Promise<void>>();

  const process = (job: Job, token: string) => {
    const work = runJob(kind, { job, token, handler: options.handler, log });
    inHand.add(work);
    const forget = () => inHand.delete(work);
    work.then(forget, forget);
    return work;
  };
  const settings: WorkerSettings = {
    concurrency: options.concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    // A job continues however often workers die on it; its row in the database counts attempts.
    maxStalledCount: 1_000,
    // Finds a job after its announcement was lost.
    drainDelay: 5,
    runRetryDelay: 1_000,
    autorun: false,
  };
  const open = () => backend.openWorker(kind.name, process, settings, state);
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

interface JobInHand<Payload extends object> {
  job: Job;
  token: string;
  handler: WorkerOptions<Payload>["handler"];
  log: Logger;
}

async function runJob<Payload extends object>(
  kind: QueueKind<Payload>,
  { job, token, handler, log }: JobInHand<Payload>,
): Promise<void> {
  const payload = kind.payload.safeParse(job.data);
  if (!payload.success) {
    log.error({ jobId: job.id, problem: payload.error.message }, "job dropped: its payload is not one of ours");
    return;
  }
  const ids: object = payload.data;
  try {
    await handler(payload.data);
  } catch (error) {
    const retryAfterMs = unexpectedDelayMs(job.attemptsStarted);
    log.error({ err: error, ...ids, retryAfterMs }, "job failed unexpectedly");
    await job.moveToDelayed(Date.now() + retryAfterMs, token).catch((err) => {
      log.warn({ err, ...ids }, "job not put back: it runs again once its lock has run out");
    });
    // Also when the server did not take it: after any other error BullMQ drops the job.
    throw new DelayedError();
  }
}

/** One second after the first start, doubled with each, five minutes at most. */
function unexpectedDelayMs(starts: number): number {
  return Math.min(1_000 * 2 ** Math.min(Math.max(starts - 1, 0), 20), 300_000);
}
