import { type AlertKey, insertAlertsSql, plansWithAlerts, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { smallestUuid } from "@waymark/database";
import { setStatusChangeSql } from "@waymark/traces";
import type pg from "pg";

export interface TraceKey {
  accountId: string;
  traceId: string;
}

/** Running traces to read, and to lock, in one statement at most. */
const pageRows = 500;

export const firstKey: TraceKey = { accountId: smallestUuid, traceId: smallestUuid };

/** Nobody is told of a trace that was silent for longer than this beyond its time: a limit that is new covers old traces. */
const toldWithinDays = 7;

const isRootlessSql = "otel_trace_id IS NOT NULL AND root_span_id IS NULL";

export interface WrittenTrace extends TraceKey {
  writtenAt: string;
  lastWrite: string;
  /** Whether it has no root and was silent for so long that a local root ends it. */
  lacksRoot: boolean;
}

interface Silences {
  staleAfterMs: number;
  rootAfterMs: number;
}

export interface Changed {
  closed: number;
  alerts: AlertKey[];
}

/** A page of the running traces along `trace_running_idx`, and for each whether its own row was last written $3 ms ago, $5 without a root. */
const findQuietTracesSql = `
  SELECT account_id, id, written_at < now() - (CASE WHEN ${isRootlessSql} THEN LEAST($3, $5) ELSE $3 END)::bigint * interval '1 millisecond'
  FROM trace WHERE status = 'running' AND (account_id, id) > ($1::uuid, $2::uuid)
  ORDER BY account_id, id LIMIT $4`;

/** Finds running traces with an own row older than the silence they may have; their spans may be younger. */
export async function findQuietTraces(
  pool: pg.Pool,
  { after, staleAfterMs, rootAfterMs }: { after: TraceKey } & Silences,
): Promise<{ traces: TraceKey[]; end: TraceKey | undefined }> {
  // Unnamed, so planned each time: a plan kept from when the table was empty would read all of it.
  const { rows } = await pool.query<[string, string, boolean]>({
    text: findQuietTracesSql,
    rowMode: "array",
    values: [after.accountId, after.traceId, staleAfterMs, pageRows, rootAfterMs],
  });
  const keyOf = ([accountId, traceId]: [string, string, boolean]): TraceKey => ({ accountId, traceId });
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { traces: rows.filter(([, , isQuiet]) => isQuiet).map(keyOf), end: last && keyOf(last) };
}

/** Spans that one statement reads: half a second. A trace with more is read alone. */
const portionSpans = 20_000;
/** A trace of as many counts as one with too many for company. */
const maxCounted = 2_000;

/** The first spans of each trace, by the trace's range of `span_pkey`. */
const countSpansSql = `
  SELECT c.number::int, (SELECT count(*)::int FROM (
    SELECT FROM span s WHERE s.account_id = c.account_id AND s.trace_id = c.trace_id LIMIT ${maxCounted}
  ) AS counted)
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS c (account_id, trace_id, number)`;

/** Portions of traces that one statement each can read, small traces first: large ones of an account delay nobody else's. */
export async function inPortions(pool: pg.Pool, traces: readonly TraceKey[]): Promise<TraceKey[][]> {
  const { rows } = await pool.query<[number: number, spans: number]>({
    text: countSpansSql,
    rowMode: "array",
    values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId)],
  });
  const portions: TraceKey[][] = [];
  let left = 0;
  for (const [number, spans] of rows.sort(([, a], [, b]) => a - b)) {
    const weight = spans === maxCounted ? portionSpans : spans;
    const last = portions.at(-1);
    const trace = traces[number - 1] as TraceKey;
    if (last && weight <= left) last.push(trace);
    else {
      portions.push([trace]);
      left = portionSpans;
    }
    left -= weight;
  }
  return portions;
}

/**
 * The last write of running traces, their own or a span's, and their own. Probes `span_pkey` for the newest span; if it is
 * older than the trace's silence, reads the trace's range of the index, since an older span may have been changed.
 */
const readLastWritesSql = `
  SELECT account_id, id, written_at::text, last_write::text, is_rootless AND last_write < bound
  FROM (
    SELECT t.account_id, t.id, t.written_at, is_rootless, bound, GREATEST(t.written_at, CASE
      WHEN newest.written_at >= bound THEN newest.written_at
      ELSE (SELECT max(s.written_at) FROM span s WHERE s.account_id = t.account_id AND s.trace_id = t.id)
    END) AS last_write
    FROM unnest($1::uuid[], $2::uuid[]) AS c (account_id, id)
    JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    CROSS JOIN LATERAL (
      SELECT ${isRootlessSql} AS is_rootless,
        now() - (CASE WHEN ${isRootlessSql} THEN LEAST($3, $4) ELSE $3 END)::bigint * interval '1 millisecond' AS bound
    ) AS b
    LEFT JOIN LATERAL (
      SELECT s.written_at FROM span s WHERE s.account_id = t.account_id AND s.trace_id = t.id ORDER BY s.id DESC LIMIT 1
    ) AS newest ON true
    WHERE t.status = 'running'
  ) AS w`;

export async function readLastWrites(
  pool: pg.Pool,
  { traces, staleAfterMs, rootAfterMs }: { traces: readonly TraceKey[] } & Silences,
): Promise<WrittenTrace[]> {
  const { rows } = await pool.query<[string, string, string, string, boolean]>({
    text: readLastWritesSql,
    rowMode: "array",
    values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId), staleAfterMs, rootAfterMs],
  });
  return rows.map(([accountId, traceId, writtenAt, lastWrite, lacksRoot]) => {
    return { accountId, traceId, writtenAt, lastWrite, lacksRoot };
  });
}

/** Whether the silence of a trace in `traces` passed the given milliseconds so shortly ago that people are told. */
export const hasRecentEndSql = (traces: string, ms: string) =>
  `${traces}.last_write >= now() - ${ms} * interval '1 millisecond' - interval '${toldWithinDays} days'`;

/**
 * Sets the traces to `timeout` whose last write is $6 ms old, and inserts their alerts, all or nothing. Judges each trace under
 * its lock, leaves those alone that were written since, and skips locked ones until a later round. Notes the last write in a
 * living trace's row, so nobody reads the spans again before the trace can be stale. A span stored meanwhile may come after the
 * end. It reads no spans beside a lock: see `isSpanSql`.
 */
const closeStaleTracesSql = `
  WITH judged AS (
    SELECT t.account_id, t.id, c.alert_id, c.last_write, now() - $6 * interval '1 millisecond' AS bound
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[])
      AS c (account_id, id, alert_id, written_at, last_write)
    JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    WHERE t.status = 'running' AND t.written_at = c.written_at
    FOR NO KEY UPDATE OF t SKIP LOCKED
  ), noted AS (
    UPDATE trace t SET written_at = j.last_write FROM judged j
    WHERE j.last_write >= j.bound AND t.account_id = j.account_id AND t.id = j.id AND t.written_at < j.last_write
  ), changes AS (
    SELECT j.account_id, j.id, j.last_write, 'timeout' AS status, CASE
      WHEN ${hasRecentEndSql("j", "$6")}
        AND EXISTS (SELECT FROM account a WHERE a.id = j.account_id AND a.plan = ANY ($7::text[])) THEN j.alert_id
    END AS alert_id
    FROM judged j WHERE j.last_write < j.bound
  ), closed AS (
    UPDATE trace t SET
      status = c.status,
      ${setStatusChangeSql},
      ended_at = COALESCE(t.ended_at, GREATEST(t.started_at, c.last_write)),
      ${setAlertIdSql},
      written_at = now()
    FROM changes c WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING ${returnAlertIdSql}
  ), ${insertAlertsSql("closed")}
  SELECT (SELECT count(*)::int FROM closed), a.account_id, a.id FROM (VALUES (1)) AS always LEFT JOIN new_alerts a ON true`;

export function closeStaleTraces(
  pool: pg.Pool,
  { staleAfterMs, ...ending }: Pick<Ending, "traces" | "uuid"> & { staleAfterMs: number },
): Promise<Changed> {
  return endTraces(pool, { sql: closeStaleTracesSql, ...ending, silenceMs: staleAfterMs });
}

interface Ending {
  sql: string;
  traces: readonly WrittenTrace[];
  silenceMs: number;
  uuid: () => string;
  further?: readonly unknown[];
}

/** Ends traces by a statement that returns the number of them in each row, and a new alert if there is one. */
export async function endTraces(pool: pg.Pool, ending: Ending): Promise<Changed> {
  const { sql, traces, silenceMs, uuid, further = [] } = ending;
  if (traces.length === 0) return { closed: 0, alerts: [] };
  const { rows } = await pool.query<[closed: number, accountId: string | null, alertId: string | null]>({
    text: sql,
    rowMode: "array",
    values: [
      traces.map(({ accountId }) => accountId),
      traces.map(({ traceId }) => traceId),
      traces.map(uuid),
      traces.map(({ writtenAt }) => writtenAt),
      traces.map(({ lastWrite }) => lastWrite),
      silenceMs,
      plansWithAlerts,
      ...further,
    ],
  });
  const alerts = rows.flatMap(([, accountId, alertId]) =>
    accountId === null || alertId === null ? [] : [{ accountId, alertId }],
  );
  return { closed: rows[0]?.[0] ?? 0, alerts };
}
