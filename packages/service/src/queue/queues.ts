import { setTimeout as wait } from "node:timers/promises";
import { queueSchema, withClient } from "@waymark/database";
import { runMigrations } from "bullmq";
import { z } from "zod";

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

const maxAttempts = 60;
const retryAfterMs = 3_000;

/**
 * Makes or updates BullMQ's tables in Postgres and the sequence of each queue, since the services' roles may make neither.
 * BullMQ itself makes a sequence at a queue's first job. Safe to repeat, also by several at once.
 */
export async function migrateQueues(
  connectionString: string,
  kinds: Readonly<Record<string, QueueKind>> = queues,
): Promise<void> {
  await withClient(connectionString, "migrate", async (client) => {
    // Writers of a table do not wait longer behind us; the lock may also be another migration's.
    await client.query("SET lock_timeout = 2000");
    for (let attempt = 1; ; attempt++) {
      const error = await runMigrations(client, queueSchema).then(
        () => undefined,
        (reason) => reason as Error & { code?: string },
      );
      if (!error) break;
      if (error.code !== "55P03" || attempt === maxAttempts) throw error;
      await wait(retryAfterMs);
    }
    const { rows } = await client.query<{ name: string }>(
      `SELECT ${queueSchema}.job_id_seq_name(queue) AS name FROM unnest($1::text[]) AS queue`,
      [Object.values(kinds).map(({ name }) => name)],
    );
    for (const { name } of rows) {
      await client.query(`CREATE SEQUENCE IF NOT EXISTS ${queueSchema}.${client.escapeIdentifier(name)}`);
    }
  });
}
