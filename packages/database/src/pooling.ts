import pg from "pg";
import { findWrongParameters, openSession, type PoolOptions } from "./pool.js";

export class PoolingError extends Error {
  override name = "PoolingError";
}

/** Tries to tell transaction mode: other clients of the pooler may come between. */
const rounds = 3;

/** By two connections: in session mode they keep their sessions. @throws PoolingError naming what is wrong */
export async function checkPooling(options: PoolOptions): Promise<void> {
  const clients = [createClient(options), createClient(options)] as const;
  try {
    for (const client of clients) {
      await client.connect();
      // Without limits: a session shared with others would keep them.
      await openSession(client, { ...options, isPooledByTransaction: true }, answerWithinMs);
    }
    const [first, second] = clients;
    for (let round = 0; round < rounds; round++) {
      const before = await processOf(first);
      await second.query("BEGIN");
      const [other, after] = [await processOf(second), await processOf(first)];
      if (options.isPooledByTransaction) for (const client of clients) await checkParameters(client, options);
      await second.query("COMMIT");
      if (!options.isPooledByTransaction && (other === before || after !== before)) throw new PoolingError(unnamed);
    }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

export async function checkParameters(client: Pick<pg.ClientBase, "query">, options: PoolOptions): Promise<void> {
  const wrong = Object.entries(await findWrongParameters(client, options));
  if (wrong.length === 0) return;
  if (!options.isPooledByTransaction) throw new PoolingError(unnamed);
  const { rows } = await client.query<{ role: string; database: string }>(
    "SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database",
  );
  const [{ role, database } = { role: "ROLE", database: "DATABASE" }] = rows;
  const statements = wrong.map(
    ([name, value]) => `ALTER ROLE ${role} IN DATABASE ${database} SET ${name} = '${value}';`,
  );
  throw new PoolingError(
    `Behind a pooler in transaction mode the role has its own limits. Run this, then RECONNECT in the pooler's console:\n${statements.join("\n")}`,
  );
}

const answerWithinMs = 2_000;

function createClient({ connectionString, applicationName }: PoolOptions): pg.Client {
  const client = new pg.Client({
    connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  });
  client.on("error", () => undefined);
  return client;
}

/** By a named statement, as those of the services. */
async function processOf(client: pg.Client): Promise<number | undefined> {
  try {
    const { rows } = await client.query({ name: "waymark_process", text: "SELECT pg_backend_pid() AS pid" });
    return rows[0]?.pid;
  } catch (error) {
    // SQLSTATE 26000: the statement does not exist; 42P05: it exists already.
    if (["26000", "42P05"].includes(String((error as { code?: unknown }).code))) throw new PoolingError(forgetful);
    throw error;
  }
}

const unnamed =
  "DATABASE_URL leads through a pooler in transaction mode. Use session mode, or set DATABASE_POOLER=transaction.";
const forgetful =
  "DATABASE_URL leads through a pooler that forgets prepared statements. Use session mode, or pgbouncer 1.21 or newer with max_prepared_statements above 0.";
