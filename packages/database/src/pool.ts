import type { Duplex } from "node:stream";
import pg from "pg";
import { breakConnection, isUnanswered } from "./transaction.js";

export interface PoolOptions extends SessionOptions {
  connectionString: string;
  maxConnections: number;
  applicationName: string;
  connectTimeoutMs?: number;
  /** Sends statements given at once in one round trip; each still has its own answer. Streams, as of COPY, are refused then. */
  pipeline?: boolean;
  onIdleError?(error: Error): void;
}

export const connectTimeoutMs = 2_500;
/** A statement without an answer fails this much later than the server's own limit. */
export const answerTimeoutMs = 500;

/** Timeouts of the services, whose statements take milliseconds. A request waits less than 13 s for a hanging server. */
export const serviceTimeouts = {
  statementTimeoutMs: 9_000,
  lockTimeoutMs: 1_000,
  idleTransactionTimeoutMs: 5_000,
} as const satisfies Partial<PoolOptions>;

/** `bigint` becomes a number: only visitor hashes exceed 2^53, and nothing reads them as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => {
    if (format !== "binary" && oid === pg.types.builtins.INT8) return Number;
    // A Date would shift dates into the machine's time zone; JSON passes through as text.
    if (format !== "binary" && [pg.types.builtins.DATE, pg.types.builtins.JSON].includes(oid)) return String;
    return pg.types.getTypeParser(oid, format as "text");
  },
};

/** After a connection timeout the pool refuses further connections at once for this long. */
const refuseMs = 2_000;

type OnClient = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** Fails fast after one connection timeout: the waits of requests that share statements would add up. */
class ImpatientPool extends pg.Pool {
  private refusesUntil = 0;

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: OnClient): void;
  override connect(callback?: OnClient): Promise<pg.PoolClient> | undefined {
    if (!callback) {
      return new Promise((resolve, reject) => {
        this.checkOut((error, client) => (client ? resolve(client) : reject(error)));
      });
    }
    this.checkOut(callback);
    return undefined;
  }

  private checkOut(callback: OnClient): void {
    if (this.idleCount > 0) {
      super.connect(callback);
    } else if (performance.now() < this.refusesUntil) {
      process.nextTick(callback, new Error(`${connectionTimeoutMessage}, a moment ago`), undefined, () => undefined);
    } else {
      super.connect((error, client, done) => {
        if (error?.message.startsWith(connectionTimeoutMessage) || isUnanswered(error))
          this.refusesUntil = performance.now() + refuseMs;
        callback(error, client, done);
      });
    }
  }
}

const connectionTimeoutMessage = "Connection terminated due to connection timeout";

/** Sessions are in UTC. A statement without an answer fails {@link answerTimeoutMs} after its own limit. */
export function createPool(options: PoolOptions): pg.Pool {
  const { statementTimeoutMs, connectTimeoutMs: openWithinMs = connectTimeoutMs } = options;
  const pool = new ImpatientPool({
    connectionString: options.connectionString,
    max: options.maxConnections,
    application_name: options.applicationName,
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + answerTimeoutMs }),
    connectionTimeoutMillis: openWithinMs,
    keepAlive: true,
    ...(options.pipeline && { pipeline: true }),
    onConnect: (client) => openSession(client, options, openWithinMs),
    types,
  });
  pool.on("error", (error) => options.onIdleError?.(error));
  dropIdleWhenUnanswered(pool);
  return pool;
}

/** After a statement without an answer, closes idle connections: they likely hang too, and a new one fails fast. */
function dropIdleWhenUnanswered(pool: pg.Pool): void {
  const idle = new Set<pg.PoolClient>();
  pool.on("acquire", (client) => idle.delete(client));
  pool.on("remove", (client) => idle.delete(client));
  pool.on("release", (error, client) => {
    if (!isUnanswered(error)) {
      idle.add(client);
      return;
    }
    for (const each of idle) breakConnection(each);
  });
}

/** Sends all statements that `work` starts at once by one write to the socket, of a connection that sends them without waiting. */
export function sendTogether<Result>(client: pg.ClientBase, work: () => Result): Result {
  // The driver has the property; its types do not.
  const { stream } = (client as pg.ClientBase & { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return work();
  } finally {
    stream.uncork();
  }
}

export interface SessionOptions {
  /** The server cancels a longer statement; 0 for no limit. */
  statementTimeoutMs: number;
  /** A statement that waits longer for one lock fails; default no limit. */
  lockTimeoutMs?: number;
  /** The server ends a transaction that waits longer for its client's next statement; default no limit. */
  idleTransactionTimeoutMs?: number;
  /** Plans each prepared statement once and by indexes: a plan made for an empty table would scan the full one. */
  plansOnce?: boolean;
  /** The connection leads through a pooler that gives each transaction another session: limits must be the role's own. */
  isPooledByTransaction?: boolean | undefined;
}

/** Forms of times that the driver and our statements expect, whatever the database or the role prefers. */
const forms = { TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres" };

/** Sets a new connection's parameters, by one statement: a pooler refuses them in the start-up packet. */
export async function openSession(client: pg.ClientBase, options: SessionOptions, withinMs: number): Promise<void> {
  // A pooler follows the forms: Postgres reports their changes.
  const parameters = options.isPooledByTransaction ? forms : { ...forms, ...limitsOf(options) };
  const calls = Object.entries(parameters).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  await client.query({ text: `SELECT ${calls.join(", ")}`, query_timeout: withinMs } as pg.QueryConfig);
}

export function limitsOf(options: SessionOptions): Record<string, string> {
  const { statementTimeoutMs, lockTimeoutMs, idleTransactionTimeoutMs, plansOnce } = options;
  return {
    statement_timeout: `${statementTimeoutMs}`,
    // A scan turned off costs 1e10 in a plan without another way, and Postgres then compiles a statement of microseconds.
    jit: "off",
    ...(lockTimeoutMs !== undefined && { lock_timeout: `${lockTimeoutMs}` }),
    ...(idleTransactionTimeoutMs !== undefined && {
      idle_in_transaction_session_timeout: `${idleTransactionTimeoutMs}`,
    }),
    ...(plansOnce && { plan_cache_mode: "force_generic_plan", enable_seqscan: "off" }),
  };
}

export async function findWrongParameters(
  client: Pick<pg.ClientBase, "query">,
  options: SessionOptions,
): Promise<Record<string, string>> {
  const wanted: Record<string, string> = { ...forms, ...limitsOf(options) };
  const { rows } = await client.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)",
    [Object.keys(wanted)],
  );
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => settings[name] !== value));
}
