import { queueSchema } from "@waymark/database";
import { runMigrations } from "bullmq";
import pg from "pg";
import { queueName } from "./trace-finalized.schema.js";

/**
 * Makes or updates BullMQ's tables in Postgres, with the sequence of our queue, which BullMQ would make at its first job: a
 * service whose role may make no tables finds all of them there. Safe to repeat, and by several at once.
 */
export async function migrateQueue(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, application_name: "waymark migrate" });
  await client.connect();
  try {
    await runMigrations(client, queueSchema);
    const { rows } = await client.query<{ name: string }>(`SELECT ${queueSchema}.job_id_seq_name($1) AS name`, [
      queueName,
    ]);
    await client.query(`CREATE SEQUENCE IF NOT EXISTS ${queueSchema}.${client.escapeIdentifier(rows[0]?.name ?? "")}`);
  } finally {
    await client.end();
  }
}
