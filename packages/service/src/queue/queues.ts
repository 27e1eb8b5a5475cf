import { z } from "zod";

/** One kind of job, and its queue. */
export interface QueueKind<Payload extends object = object> {
  /** The queue's name on its server. A new name leaves the jobs of the old one behind. */
  readonly name: string;
  /** Parses a job's payload: ids only, so a job is never stale and holds no secret. */
  readonly payload: z.ZodType<Payload>;
  /** The job's id: the queue holds one job of an id at most. */
  jobIdOf(payload: Payload): string;
}

/** All kinds of jobs; `apps/worker/src/jobs.ts` has the work of each. */
export const queues = {
  traceFinalized: {
    name: "trace-finalized",
    payload: z.object({ accountId: z.guid(), alertId: z.guid() }),
    jobIdOf: ({ alertId }: { alertId: string }) => alertId,
  },
} as const satisfies Record<string, QueueKind>;
