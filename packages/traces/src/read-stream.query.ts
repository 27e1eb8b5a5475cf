import type pg from "pg";
import { type ListedTrace, listedColumns } from "./list-traces.query.js";

/**
 * A place in an account's stream of new traces and changes of status. Snapshots are Postgres's texts: transactions overtake
 * each other, so no number alone tells all that was read.
 */
export interface StreamPosition {
  /** Everything visible in this snapshot was read. */
  readonly base: string;
  /** Of what became visible until `top`, everything up to this transaction and trace was read, too. */
  readonly rest?: { readonly top: string; readonly txid: string; readonly id: string };
}

interface StreamRow extends ListedTrace {
  /** The transaction that created the trace or changed its status last. */
  readonly txid: string;
}

export interface StreamPage {
  /** By transaction and id. */
  readonly rows: readonly StreamRow[];
  /** The snapshot with all of these rows. */
  readonly top: string;
  /** The position after the last row. */
  readonly next: StreamPosition;
  /** Whether nothing more was visible. */
  readonly isLast: boolean;
}

/** Rows of one page, and the rest of the last row's transaction. */
const maxRows = 500;
/** Older changes are never told: txids of a restored database can be higher than the server's own. */
const maxAge = "25 hours";

/**
 * Reads a page for each position, at once. Per account a range of `trace_stream_idx` from the oldest transaction that was open
 * at the last reading; what a snapshot shows already is passed over. A page takes its rows in the order of the index.
 */
const readStreamSql = `
  WITH now AS MATERIALIZED (SELECT txid_current_snapshot() AS snapshot)
  SELECT now.snapshot::text AS now, rows.* FROM now LEFT JOIN LATERAL (
    SELECT p.number::int, t.status_txid, t.status_txid::text AS txid, ${listedColumns}
    FROM unnest($1::uuid[], $2::bigint[], $3::txid_snapshot[], $4::txid_snapshot[], $5::uuid[]) WITH ORDINALITY
      AS p (account_id, low, base, top, id, number)
    CROSS JOIN LATERAL (
      SELECT * FROM trace s WHERE s.account_id = p.account_id AND s.status_txid >= p.low
        AND NOT txid_visible_in_snapshot(s.status_txid, p.base)
        AND txid_visible_in_snapshot(s.status_txid, COALESCE(p.top, now.snapshot))
        AND (p.id IS NULL OR (s.status_txid, s.id) > (p.low, p.id))
        AND s.written_at > statement_timestamp() - interval '${maxAge}'
      ORDER BY s.status_txid FETCH FIRST $6 ROWS WITH TIES
    ) t
  ) AS rows ON true ORDER BY number, status_txid, id`;

type Row = StreamRow & { now: string; number: number | null };

export function readStreamStatement(positions: readonly { accountId: string; position: StreamPosition }[]) {
  const values = [
    positions.map(({ accountId }) => accountId),
    positions.map(({ position }) => position.rest?.txid ?? oldestOpen(position.base)),
    positions.map(({ position }) => position.base),
    positions.map(({ position }) => position.rest?.top),
    positions.map(({ position }) => position.rest?.id),
    maxRows,
  ];
  return { name: "read-stream", text: readStreamSql, values };
}

/** Reads the next page of each account's stream; the present snapshot alone without positions. */
export async function readStream(
  pool: pg.Pool,
  positions: readonly { accountId: string; position: StreamPosition }[],
): Promise<{ now: string; pages: StreamPage[] }> {
  const { rows } = await pool.query<Row>(readStreamStatement(positions));
  const now = rows[0]?.now ?? "";
  const byNumber = new Map<number, StreamRow[]>();
  for (const row of rows) {
    if (row.number === null) continue;
    const own = byNumber.get(row.number) ?? [];
    byNumber.set(row.number, own);
    own.push(row);
  }
  const pages = positions.map(({ position }, index) => toPage(position, byNumber.get(index + 1) ?? [], now));
  return { now, pages };
}

function toPage({ base, rest }: StreamPosition, rows: StreamRow[], now: string): StreamPage {
  const top = rest?.top ?? now;
  const last = rows.at(-1);
  const isFull = last !== undefined && rows.length >= maxRows;
  const next = isFull ? { base, rest: { top, txid: last.txid, id: last.id } } : { base: top };
  return { rows, top, next, isLast: !isFull && rest === undefined };
}

function oldestOpen(snapshot: string): string {
  return snapshot.slice(0, snapshot.indexOf(":"));
}
