import { uuidV7Floor } from "@waymark/database";
import type pg from "pg";
import { isoText } from "./field-table.js";
import { type ListedTrace, listedColumns, presentListedTrace } from "./list-traces.query.js";

interface ChangesToRead {
  accountId: string;
  /** The newest id that the reader knows; undefined reads no new traces. */
  after?: string | undefined;
  /** Traces on the screen. */
  ids: readonly string[];
  /** The `at` of the changes before; undefined reads every trace of `ids`. */
  since?: string | undefined;
}

interface TraceChanges {
  /** The database's time of this reading. */
  at: string;
  /** Traces created since, newest first; some may be known to the reader, since commits overtake each other. */
  created: ListedTrace[];
  /** Whether more were created than are listed. */
  has_more: boolean;
  changed: ListedTrace[];
  gone: string[];
}

/** Ids of one reading, and new traces of one answer. */
export const maxChanges = 100;
/** A trace may become visible this long after it got its id or its change its time: no statement takes longer. */
const maxCommitMs = 10_000;

/** New traces: $5 entries of `trace_pkey`. Changed ones: a probe of `trace_pkey` and `alert_trace_idx` per id of $3. */
const readChangesSql = `
  SELECT clock.at AS read_at, rows.* FROM (SELECT ${isoText("now()")} AS at) AS clock
  LEFT JOIN LATERAL (
    (SELECT 'created' AS kind, t.id AS wanted_id, ${listedColumns} FROM trace t
      WHERE t.account_id = $1 AND t.id > $2::uuid ORDER BY t.id DESC LIMIT $5)
    UNION ALL
    (SELECT 'changed', w.id, ${listedColumns} FROM unnest($3::uuid[]) AS w (id)
      LEFT JOIN trace t ON t.account_id = $1 AND t.id = w.id
      WHERE t.id IS NULL OR t.written_at >= $4::timestamptz OR (
        SELECT a.sent_at FROM alert a WHERE a.account_id = $1 AND a.trace_id = t.id ORDER BY a.id DESC LIMIT 1
      ) >= $4::timestamptz)
  ) AS rows ON true`;

interface Row extends ListedTrace {
  read_at: string;
  kind: "created" | "changed" | null;
  wanted_id: string;
}

export function readChangesStatement({ accountId, after, ids, since }: ChangesToRead) {
  const created = after === undefined ? null : uuidV7Floor(millisOf(after) - maxCommitMs);
  const changed = since === undefined ? "-infinity" : new Date(Date.parse(since) - maxCommitMs).toISOString();
  const values = [accountId, created, ids.slice(0, maxChanges), changed, maxChanges + 1];
  return { name: "read-changes", text: readChangesSql, values };
}

/** Reads new traces and changes of known ones. A change may be repeated for some seconds. */
export async function readChanges(pool: pg.Pool, query: ChangesToRead): Promise<TraceChanges> {
  const { rows } = await pool.query<Row>(readChangesStatement(query));
  const known = new Set([...query.ids, query.after]);
  const created = rows.filter(({ kind }) => kind === "created");
  const changed = rows.filter(({ kind }) => kind === "changed");
  return {
    at: rows[0]?.read_at ?? "",
    created: created
      .filter(({ id }) => !known.has(id))
      .slice(0, maxChanges)
      .map(presentListedTrace),
    has_more: created.length > maxChanges,
    changed: changed.filter(({ id }) => id !== null).map(presentListedTrace),
    gone: changed.filter(({ id }) => id === null).map(({ wanted_id }) => wanted_id),
  };
}

function millisOf(id: string): number {
  return Number.parseInt(id.slice(0, 13).replace("-", ""), 16);
}
