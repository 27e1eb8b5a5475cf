import type pg from "pg";
import { failingSpanSql } from "./failing-span.js";

interface TraceNote {
  id: string;
  /** The beginning of the innermost failing span's error, or its name where it has none; null unless the trace failed. */
  error: string | null;
  is_mailed: boolean;
}

/** Traces of one call: a page of the API's, or the rows of a screen. */
const maxNotes = 200;
const maxErrorLength = 300;
/** Errors of the traces after this time stay unread: a page of huge failed traces must not keep a reader waiting. */
const maxErrorsMs = 150;
/** Alerts of a trace to look at, the newest first. */
const maxAlerts = 10;

/** Per trace a probe of `trace_pkey`, $4 entries of `alert_trace_idx` and, if failed, a range of `span_pkey` within bounds. */
const readNotesSql = `
  SELECT t.id, shown.error, EXISTS (
    SELECT FROM (
      SELECT a.sent_at FROM alert a WHERE a.account_id = $1 AND a.trace_id = t.id ORDER BY a.id DESC LIMIT $4
    ) AS newest WHERE newest.sent_at IS NOT NULL
  ) AS is_mailed
  FROM unnest($2::uuid[]) AS w (id)
  JOIN trace t ON t.account_id = $1 AND t.id = w.id
  LEFT JOIN LATERAL (
    WITH wanted AS MATERIALIZED (
      SELECT $1::uuid AS account_id, t.id AS trace_id
      WHERE t.status IN ('error', 'timeout') AND clock_timestamp() < statement_timestamp() + $3 * interval '1 ms'
    ), ${failingSpanSql("wanted")}
    SELECT left(COALESCE(NULLIF(s.error, ''), s.name), ${maxErrorLength}) AS error
    FROM span s WHERE s.account_id = $1 AND s.trace_id = t.id AND s.id = (SELECT id FROM innermost)
  ) AS shown ON true`;

/** Reads the notes of at most {@link maxNotes} traces; ids of other accounts bring none. */
export async function readNotes(
  pool: pg.Pool,
  accountId: string,
  ids: readonly string[],
  maxMs = maxErrorsMs,
): Promise<TraceNote[]> {
  if (ids.length === 0) return [];
  const values = [accountId, ids.slice(0, maxNotes), maxMs, maxAlerts];
  const { rows } = await pool.query<TraceNote>({ name: "read-trace-notes", text: readNotesSql, values });
  return rows;
}
