import { z } from "zod";

/** The name of the queue, on every server that can carry it. */
export const queueName = "trace-finalized";

/** What a job carries: ids only. Everything else is read when the job runs, so that it is never stale and never secret. */
export const traceFinalizedSchema = z.object({ accountId: z.guid(), alertId: z.guid() });

/** An alert that is owed. */
export type TraceFinalized = z.output<typeof traceFinalizedSchema>;
