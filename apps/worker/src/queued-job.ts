import {
  createWorker,
  type JobOutcome,
  type JobWorker,
  type QueueKind,
  type QueueServer,
} from "@waymark/service/queue";

export interface QueuedJob {
  readonly name: string;
  readonly what: string;
  /** Starts to take jobs from the queue. */
  start(server: QueueServer): JobWorker;
}

/** A job as the job table declares it. */
interface Declared<Payload extends object> {
  what: string;
  /** Jobs in hand at once. */
  concurrency: number;
  run(payload: Payload): Promise<JobOutcome>;
}

/** Joins a kind of job with its work. */
export function queuedJob<Payload extends object>(kind: QueueKind<Payload>, job: Declared<Payload>): QueuedJob {
  const { what, concurrency, run } = job;
  return {
    name: kind.name,
    what,
    start: (server) => createWorker(kind, { ...server, concurrency, handler: run }),
  };
}
