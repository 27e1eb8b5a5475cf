import { type CreateGroupCommit, idBounds } from "@waymark/database";
import type pg from "pg";

/** Traces of more spans have no version: it would read them all. */
export const maxVersionedSpans = 999;

/** Of the spans `s`: the transaction that wrote each row's present version, and its time. */
export const spanVersions = "string_agg(xidsend(s.row_xid) || timestamptz_send(s.written_at), '')";

/**
 * A finished trace's version: a hash over the rows of the trace `t` and its `spans`. A write changes the transaction in its row,
 * however writes overtake each other; the times tell apart copies restored from two backups.
 */
export const traceVersion = `CASE WHEN t.status <> 'running' AND spans.count <= ${maxVersionedSpans} THEN left(encode(sha256(
    xidsend(t.xmin) || timestamptz_send(t.written_at) || COALESCE(spans.versions, '')), 'hex'), 32) END`;

/** The versions of traces, without their contents. Per trace a probe of `trace_pkey` and a bounded range of `span_pkey`. */
const readVersionsSql = `
  SELECT q.n::int, ${traceVersion} AS version
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, n)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.trace_id,
  LATERAL (
    SELECT count(*) AS count, ${spanVersions} AS versions FROM (
      SELECT xmin AS row_xid, written_at FROM span
      WHERE account_id = q.account_id AND trace_id = q.trace_id AND trace_id BETWEEN $3 AND $4 AND t.status <> 'running'
      ORDER BY id LIMIT ${maxVersionedSpans + 1}
    ) s
  ) spans`;

interface TraceOfAccount {
  accountId: string;
  traceId: string;
}

interface FoundTrace {
  /** Null while the trace runs, and if it has too many spans. */
  version: string | null;
}

/** Reads whether an account has a trace, and its version. */
export type ReadVersion = (trace: TraceOfAccount) => Promise<FoundTrace | undefined>;

export function createVersionReader(pool: pg.Pool, createGroupCommit: CreateGroupCommit): ReadVersion {
  return createGroupCommit<TraceOfAccount, FoundTrace | undefined>({
    name: "read-trace-version",
    run: async (traces) => {
      const traceIds = traces.map(({ traceId }) => traceId.toLowerCase());
      const { rows } = await pool.query<FoundTrace & { n: number }>({
        name: "read-trace-versions",
        text: readVersionsSql,
        values: [traces.map(({ accountId }) => accountId), traceIds, ...idBounds(traceIds)],
      });
      const found = new Map(rows.map((row) => [row.n, row]));
      return traces.map((_, index) => found.get(index + 1));
    },
    maxRows: 32,
  });
}
