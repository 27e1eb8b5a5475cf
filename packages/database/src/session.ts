import type pg from "pg";

export interface SessionOptions {
  /** The server cancels a longer statement; 0 for no limit. */
  statementTimeoutMs: number;
  /** A statement that waits longer for one lock fails; default no limit. */
  lockTimeoutMs?: number;
  /** The server ends a transaction that waits longer for its client's next statement; default no limit. */
  idleTransactionTimeoutMs?: number;
  /**
   * Plans each prepared statement once and by indexes, for statements probing indexes with any values. Otherwise a
   * plan made for an empty table scans the full table until the next ANALYZE.
   */
  plansOnce?: boolean;
  /** The connection leads through a pooler that gives each transaction another session: limits must be the role's own. */
  isPooledByTransaction?: boolean | undefined;
}

/** Forms of times that the driver and our statements expect, whatever the database or the role prefers. */
const forms = { TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres" };

/**
 * Sets a new connection's parameters, by one statement: a pooler refuses them in the start-up packet.
 * @param withinMs a later answer is an error
 */
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

/** The parameters that the present session should have and has not, with the right values. */
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
