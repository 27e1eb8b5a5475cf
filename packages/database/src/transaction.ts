import type { Socket } from "node:net";
import pg from "pg";

export type Queryable = Pick<pg.ClientBase, "query">;

export function inTransaction<Result>(client: pg.ClientBase, work: () => Promise<Result>): Promise<Result> {
  return inOwnTransaction(client, async () => {
    await client.query("BEGIN");
    const result = await work();
    await client.query("COMMIT");
    return result;
  });
}

/** As `inTransaction` for work that sends BEGIN and COMMIT itself, together with other statements. */
export async function inOwnTransaction<Result>(client: pg.ClientBase, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // A hanging or broken connection cannot roll back; the server does so itself.
    if (isUnanswered(error)) breakConnection(client);
    else await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Whether a statement failed for lack of an answer. Its connection still waits for that answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Closes a connection without telling the server. The driver reports it to the client's holder and to the pool. */
export function breakConnection(client: pg.ClientBase): void {
  // The driver has the property; its types do not.
  const { connection } = client as pg.ClientBase & { connection?: { stream?: Socket } };
  connection?.stream?.destroy();
}

/** Runs work on a connection of the pool. After an error the pool closes it, because its state is unknown. */
export async function withConnection<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  // The driver also emits a broken connection as an event; without a listener it ends the process.
  const onError = (error: Error) => {
    failure = error;
  };
  client.on("error", onError);
  try {
    return await work(client);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off("error", onError);
    client.release(failure);
  }
}

export async function withClient<Result>(
  connectionString: string,
  program: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString, application_name: `waymark ${program}` });
  // Without a listener a connection breaking between statements would end the process; the next statement fails anyway.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export function withTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  return withConnection(pool, (client) => inTransaction(client, () => work(client)));
}

/** As `withTransaction`, with a limit on each wait for a lock. False if one took longer: then nothing is done. */
export async function tryTransaction(
  pool: pg.Pool,
  lockTimeoutMs: number,
  work: (client: pg.PoolClient) => Promise<unknown>,
): Promise<boolean> {
  try {
    await withTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      await work(client);
    });
    return true;
  } catch (error) {
    // SQLSTATE 55P03, lock_not_available.
    if ((error as { code?: unknown }).code === "55P03") return false;
    throw error;
  }
}

export type TextTimes<Row> = {
  [Name in keyof Row]: Date extends Row[Name] ? Exclude<Row[Name], Date> | string : Row[Name];
};

/** A row as JSON and terminals show it: its times in ISO 8601, to the millisecond. */
export function textTimes<Row extends object>(row: Row): TextTimes<Row> {
  const members = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(members);
}
