import pg from "pg";

/** Milliseconds that a transaction may be idle: a process suspended within a batch must not keep its site locked. */
const maxIdleMs = 5_000;
/** SQLSTATE idle_in_transaction_session_timeout: Postgres ended the session. */
const idleInTransaction = "25P03";

/** The process was suspended within a batch, and the database undid that batch. */
export class ImportSuspendedError extends Error {
  override name = "ImportSuspendedError";

  constructor(cause: unknown) {
    const reason = `The import stood still for more than ${maxIdleMs / 1_000} seconds in the middle of a batch`;
    super(
      `${reason}, so the database undid that batch. What was imported before stays; run the same command again to go on.`,
      { cause },
    );
  }
}

/**
 * Runs work on a connection of its own to the pool's database: COPY needs one that sends each statement after the answer to the
 * one before.
 * @throws ImportSuspendedError, or the error of the work
 */
export async function withCopyConnection(pool: pg.Pool, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...pool.options, pipeline: false });
  // A connection that breaks between two statements emits an event; the next statement fails all the same.
  let wasSuspended = false;
  client.on("error", (error) => {
    wasSuspended ||= isSuspension(error);
  });
  try {
    await client.connect();
    await pool.options.onConnect?.(client);
    await client.query(`SET idle_in_transaction_session_timeout = ${maxIdleMs}`);
    await work(client);
  } catch (error) {
    if (wasSuspended || isSuspension(error)) throw new ImportSuspendedError(error);
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function isSuspension(error: unknown): boolean {
  return (error as { code?: unknown }).code === idleInTransaction;
}
