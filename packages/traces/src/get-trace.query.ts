import { type CreateGroupCommit, idBounds } from "@waymark/database";
import type pg from "pg";
import { createChunkReader, type TraceReaderDeps, textOfChunks } from "./get-large-trace.query.js";
import { byParts, fieldOf, type SpanPart, sizedNames } from "./span-fields.js";
import { ofContext, type SpanColumns, spanAggregates, spanTexts, type TraceToRead, traceJson } from "./trace-json.js";

/** Traces of more spans have no version: it would read them all. */
const maxVersionedSpans = 999;

/** Of the spans `s`: the transaction that wrote each row's present version, and its time. */
const spanVersions = "string_agg(xidsend(s.row_xid) || timestamptz_send(s.written_at), '')";

/**
 * A finished trace's version: a hash over the rows of the trace `t` and its `spans`. A write changes the transaction in its row,
 * however writes overtake each other; the times tell apart copies restored from two backups.
 */
const traceVersion = `CASE WHEN t.status <> 'running' AND spans.count <= ${maxVersionedSpans} THEN left(encode(sha256(
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

/** Beyond one of these two bounds a trace is large. */
const maxSpans = maxVersionedSpans;
const maxBytes = 65_536;
/** Postgres compresses to a ninetieth at best, so a small trace has 720 KiB of JSON at most. */
const compressedWeight = 8;

/** A read costs the database more than a write: two statements at once use two of its cores. */
const maxReadsInFlight = 2;
/** An answer waits for the whole statement, so for few other traces. */
const maxTracesPerStatement = 32;

/** The stored bytes of a column, measured without uncompressing. */
export function weightSql(column: string): string {
  const weight = `CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE ${compressedWeight} END`;
  return `COALESCE(pg_column_size(${column}) * ${weight}, 0)`;
}

/** The bytes of a span `s` that count. */
function spanWeightSql(parts: readonly SpanPart[]): string {
  const contexts = parts.includes("attributes") ? ["resource_id", "scope_id"] : [];
  return [
    ...sizedNames(parts).map((name) =>
      fieldOf(name).size === "content" ? weightSql(`s.${name}`) : `COALESCE(octet_length(s.${name}), 0)`,
    ),
    ...contexts.map((id) => `COALESCE(${ofContext("bytes", id)}, 0)`),
  ].join(" + ");
}

/**
 * The head and the spans' columns of small traces; a large one has no head. The spans are read once and weighed before any
 * value is uncompressed. For each trace one probe of `trace_pkey` and a range of `span_pkey`, whose order they keep: span ids
 * rise in order of receipt. Both keys start with the account. Sessions run in UTC.
 */
const readTracesSql = (parts: readonly SpanPart[]) => `
  SELECT q.n::int, CASE WHEN ${weightSql("t.metadata")} <= ${maxBytes} AND spans.count <= ${maxSpans} AND (spans.count > 0 OR NOT EXISTS (
      SELECT FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.trace_id
    )) THEN ${traceJson} END AS head, ${traceVersion} AS version, spans.*
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, n)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.trace_id,
  LATERAL (
    SELECT ${spanAggregates({ parts, withQuotes: false })}, ${spanVersions} FILTER (WHERE t.status <> 'running') AS versions
    FROM (
      SELECT s.*, sum(${spanWeightSql(parts)}) OVER () AS weight FROM (
        SELECT *, xmin AS row_xid FROM span
        WHERE account_id = q.account_id AND trace_id = q.trace_id AND trace_id BETWEEN $3 AND $4
        ORDER BY id LIMIT ${maxSpans + 1}
      ) s
    ) s WHERE s.weight <= ${maxBytes}
  ) spans`;

interface ReadTrace {
  /** JSON text, whole or in chunks; see {@link createChunkReader}. */
  body: string | AsyncIterable<string>;
  /** Changes whenever the body does. Chunks may be newer. Null without a version. */
  version: string | null;
}

export interface TraceReader {
  /** Undefined for an unknown trace. @param members further ones of the JSON, with a comma before each */
  readTrace(trace: TraceToRead, members?: string): Promise<ReadTrace | undefined>;
  readVersion: ReadVersion;
}

/** Makes a reader of traces with their spans: small traces share a statement. */
export function createTraceReader(deps: TraceReaderDeps): TraceReader {
  const { pool, createGroupCommit } = deps;
  const readSmall = createGroupCommit<TraceToRead, SmallTrace | undefined>({
    name: "read-trace",
    run: (traces) => readTraces(pool, traces),
    maxInFlight: maxReadsInFlight,
    maxRows: maxTracesPerStatement,
    kindOf: ({ parts }) => statementOf(parts).name,
  });
  const readChunks = createChunkReader(deps);
  const readVersion = createVersionReader(pool, createGroupCommit);
  return {
    async readTrace(trace, members = "") {
      if (!trace.kinds) {
        const small = await readSmall(trace);
        if (!small) return undefined;
        if (small.start !== undefined) return { body: `${small.start}${members}}`, version: small.version };
      }
      // Before the chunks: a body newer than its version is only read once more.
      const found = await readVersion(trace);
      if (!found) return undefined;
      const { version } = found;
      return { body: textOfChunks(readChunks(trace), members), version };
    },
    readVersion,
  };
}

interface SmallTrace {
  /** Its JSON up to further members; undefined of a large trace. */
  start: string | undefined;
  version: string | null;
}

type TraceRow = SpanColumns & { n: number; head: string | null; version: string | null };

const statementOf = byParts((parts) => ({ name: ["read-traces", ...parts].join("-"), text: readTracesSql(parts) }));

async function readTraces(pool: pg.Pool, traces: readonly TraceToRead[]): Promise<(SmallTrace | undefined)[]> {
  const { parts = [] } = traces[0] ?? {};
  const traceIds = traces.map(({ traceId }) => traceId.toLowerCase());
  const { rows } = await pool.query<TraceRow>({
    ...statementOf(parts),
    values: [traces.map(({ accountId }) => accountId), traceIds, ...idBounds(traceIds)],
  });
  const results: (SmallTrace | undefined)[] = traces.map(() => undefined);
  for (const row of rows) results[row.n - 1] = { start: startOf(row, parts), version: row.version };
  return results;
}

function startOf(row: TraceRow, parts: readonly string[]): string | undefined {
  const spans = row.head === null ? undefined : spanTexts(row, { parts, withQuotes: false });
  return spans && `${row.head}${spans.join(",")}]`;
}

interface TraceOfAccount {
  accountId: string;
  traceId: string;
}

interface FoundTrace {
  /** Null while the trace runs, and if it has too many spans. */
  version: string | null;
}

type ReadVersion = (trace: TraceOfAccount) => Promise<FoundTrace | undefined>;

function createVersionReader(pool: pg.Pool, createGroupCommit: CreateGroupCommit): ReadVersion {
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
