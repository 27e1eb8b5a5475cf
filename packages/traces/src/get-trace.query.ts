import type pg from "pg";
import { createLargeTraceReader, type TraceReaderDeps } from "./get-large-trace.query.js";
import { ofContext, spanJson, type TraceToRead, traceJson } from "./trace-json.js";

/** Beyond one of these three bounds a trace is large. */
const maxSpans = 999;
const maxPlainBytes = 65_536;
/** Postgres compresses to a ninetieth at best, so these are 720 KiB of JSON at most. */
const maxCompressedBytes = 8_192;

/** A read costs the database more than a write: two statements at once use two of its cores. */
const maxReadsInFlight = 2;
/** An answer waits for the whole statement, so for few other traces. */
const maxTracesPerStatement = 32;

const heavyColumns = (withAttributes: boolean) => [
  "input",
  "output",
  "error",
  ...(withAttributes ? ["attributes"] : []),
];

/** The stored bytes of those columns that are compressed, or of those that are not. */
function storedSql(columns: readonly string[], isCompressed: boolean): string {
  const condition = `IS ${isCompressed ? "NOT " : ""}NULL`;
  return columns
    .map(
      (column) =>
        `CASE WHEN pg_column_compression(${column}) ${condition} THEN COALESCE(pg_column_size(${column}), 0) ELSE 0 END`,
    )
    .join(" + ");
}

const sharedBytes = ["resource_id", "scope_id"].map((id) => ` + COALESCE(${ofContext("bytes", id)}, 0)`).join("");

/**
 * Small traces as JSON text; null for a large one. Span ids rise in order of receipt. `concat` takes half the time of
 * `json_build_object`, and sizes are measured without uncompressing. For each trace one probe of `trace_pkey` and two reads of
 * one range of `span_pkey`; both keys start with the account. Sessions run in UTC.
 */
const readTracesSql = (withAttributes: boolean) => `
  SELECT q.n::int, CASE WHEN size.fits THEN concat(${traceJson}, spans.json, ']}') END AS json
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, n)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.trace_id,
  LATERAL (
    SELECT count(*) <= ${maxSpans}
      AND COALESCE(sum(octet_length(s.name) + COALESCE(octet_length(s.parent_span_id), 0)
        + ${storedSql(
          heavyColumns(withAttributes).map((column) => `s.${column}`),
          false,
        )}${withAttributes ? sharedBytes : ""}), 0) + ${storedSql(["t.metadata"], false)} <= ${maxPlainBytes}
      AND COALESCE(sum(${storedSql(
        heavyColumns(withAttributes).map((column) => `s.${column}`),
        true,
      )}), 0) + ${storedSql(["t.metadata"], true)} <= ${maxCompressedBytes} AS fits
    FROM (
      SELECT * FROM span WHERE account_id = q.account_id AND trace_id = q.trace_id ORDER BY id LIMIT ${maxSpans + 1}
    ) s
  ) size,
  LATERAL (
    SELECT string_agg(${spanJson(withAttributes)}, ',' ORDER BY s.id) AS json FROM span s
    WHERE size.fits AND s.account_id = q.account_id AND s.trace_id = q.trace_id
  ) spans`;

/** A trace as JSON text, whole or in chunks; undefined if the account has no such trace. See {@link createLargeTraceReader}. */
export type ReadTrace = (trace: TraceToRead) => Promise<string | AsyncIterable<string> | undefined>;

/** Makes a reader of traces with their spans: small traces share a statement. */
export function createTraceReader(deps: TraceReaderDeps): ReadTrace {
  const { pool, createGroupCommit } = deps;
  const readSmall = createGroupCommit<TraceToRead, { json: string | null } | undefined>({
    name: "read-trace",
    run: (traces) => readTraces(pool, traces),
    maxInFlight: maxReadsInFlight,
    maxRows: maxTracesPerStatement,
    kindOf: ({ withAttributes }) => String(withAttributes),
  });
  const readLarge = createLargeTraceReader(deps);
  return async (trace) => {
    const found = await readSmall(trace);
    return found?.json === null ? readLarge(trace) : found?.json;
  };
}

const readPlain = { name: "read-traces", text: readTracesSql(false) };
const readWithAttributes = { name: "read-traces-with-attributes", text: readTracesSql(true) };

async function readTraces(
  pool: pg.Pool,
  traces: readonly TraceToRead[],
): Promise<({ json: string | null } | undefined)[]> {
  const { rows } = await pool.query<{ n: number; json: string | null }>({
    ...(traces[0]?.withAttributes ? readWithAttributes : readPlain),
    values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId)],
  });
  const results: ({ json: string | null } | undefined)[] = traces.map(() => undefined);
  for (const row of rows) results[row.n - 1] = row;
  return results;
}
