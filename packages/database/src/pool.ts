import pg from "pg";
import { breakConnection, isUnanswered } from "./unanswered.js";

export interface PoolOptions {
  /** A `postgres://` URL. */
  connectionString: string;
  /** Connections at most; a statement waits for a free one. */
  maxConnections: number;
  /** Seen in `pg_stat_activity`. */
  applicationName: string;
  /**
   * The server cancels a statement that runs longer; 0 for no limit. Where no answer comes, since the server or the network
   * hangs, the statement fails {@link answerTimeoutMs} later, and its connection is closed.
   */
  statementTimeoutMs: number;
  /** A statement that waits longer for one lock fails; no limit where omitted. */
  lockTimeoutMs?: number;
  /** A transaction that waits longer for its client's next statement is ended by the server; no limit where omitted. */
  idleTransactionTimeoutMs?: number;
  /**
   * Plans each prepared statement once, and so that it goes by indexes: for statements that probe indexes whatever their
   * values. A plan made while a table is empty would otherwise read the whole of it until the next ANALYZE.
   */
  plansOnce?: boolean;
  /** Told of connections that break while idle; the pool replaces them by itself. */
  onIdleError?(error: Error): void;
}

/** How long a statement waits for a connection before the database counts as down. */
export const connectTimeoutMs = 2_500;
/** How much later than the server's own limit a statement without an answer fails. */
export const answerTimeoutMs = 500;

/**
 * What services allow their statements, which take milliseconds. A request waits for a connection, and for one statement
 * that hangs, less than 13 s.
 */
export const serviceTimeouts = {
  statementTimeoutMs: 9_000,
  lockTimeoutMs: 1_000,
  idleTransactionTimeoutMs: 5_000,
} as const satisfies Partial<PoolOptions>;

/** Whole numbers beyond 2^53 do not occur in our tables but for visitor hashes, which are never read back as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => {
    if (format !== "binary" && oid === pg.types.builtins.INT8) return Number;
    // Dates stay the text YYYY-MM-DD: a Date would put them into the machine's time zone. JSON stays the text it is.
    if (format !== "binary" && [pg.types.builtins.DATE, pg.types.builtins.JSON].includes(oid)) return String;
    return pg.types.getTypeParser(oid, format as "text");
  },
};

/** After a connection could not be opened in time, how long further ones are refused at once. */
const refuseMs = 2_000;

type OnClient = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/**
 * A pool that does not let each statement find out anew that the server hangs: requests that wait for each other's statements
 * would add up their waits. Idle connections are used all the same.
 */
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
        if (error?.message.startsWith(connectionTimeoutMessage)) this.refusesUntil = performance.now() + refuseMs;
        callback(error, client, done);
      });
    }
  }
}

/** What the driver says when the server took no connection in time. */
const connectionTimeoutMessage = "Connection terminated due to connection timeout";

/** A connection pool whose sessions speak UTC. */
export function createPool(options: PoolOptions): pg.Pool {
  const { statementTimeoutMs, lockTimeoutMs, idleTransactionTimeoutMs } = options;
  const pool = new ImpatientPool({
    connectionString: options.connectionString,
    max: options.maxConnections,
    application_name: options.applicationName,
    statement_timeout: statementTimeoutMs,
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + answerTimeoutMs }),
    ...(lockTimeoutMs !== undefined && { lock_timeout: lockTimeoutMs }),
    ...(idleTransactionTimeoutMs !== undefined && { idle_in_transaction_session_timeout: idleTransactionTimeoutMs }),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    options: `-c TimeZone=UTC${options.plansOnce ? " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off" : ""}`,
    types,
  });
  pool.on("error", (error) => options.onIdleError?.(error));
  dropIdleWhenUnanswered(pool);
  return pool;
}

/**
 * When a statement gets no answer, other connections to the same server are likely to hang too. Idle ones are closed, so that
 * the next statement fails as soon as it gets no new connection instead of hanging on an old one.
 */
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
