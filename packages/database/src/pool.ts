import pg from "pg";

export interface PoolOptions {
  /** A `postgres://` URL. */
  connectionString: string;
  /** Connections at most; a statement waits for a free one. */
  maxConnections: number;
  /** Seen in `pg_stat_activity`. */
  applicationName: string;
  /** A statement that runs longer is cancelled; 0 for no limit. */
  statementTimeoutMs: number;
  /** A statement that waits longer for one lock fails; no limit where omitted. */
  lockTimeoutMs?: number;
  /**
   * Plans each prepared statement once, and so that it goes by indexes: for statements that probe indexes whatever their
   * values. A plan made while a table is empty would otherwise read the whole of it until the next ANALYZE.
   */
  plansOnce?: boolean;
  /** Told of connections that break while idle; the pool replaces them by itself. */
  onIdleError?(error: Error): void;
}

/** How long a statement waits for a connection before the database counts as down. */
const connectTimeoutMs = 5_000;

/** Whole numbers beyond 2^53 do not occur in our tables but for visitor hashes, which are never read back as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => {
    if (format !== "binary" && oid === pg.types.builtins.INT8) return Number;
    // Dates stay the text YYYY-MM-DD: a Date would put them into the machine's time zone. JSON stays the text it is.
    if (format !== "binary" && [pg.types.builtins.DATE, pg.types.builtins.JSON].includes(oid)) return String;
    return pg.types.getTypeParser(oid, format as "text");
  },
};

/** A connection pool whose sessions speak UTC. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.maxConnections,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs,
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    options: `-c TimeZone=UTC${options.plansOnce ? " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off" : ""}`,
    types,
  });
  pool.on("error", (error) => options.onIdleError?.(error));
  return pool;
}
