import type pg from "pg";
import { createLargeTraceReader } from "./get-large-trace.query.js";
import { ofContext, spanJson, type TraceToRead, traceJson } from "./trace-json.js";

/** A trace with more spans is large. */
const maxSpans = 999;
/** A trace with more text and JSON that is stored as it is, or that is stored compressed, is large. */
const maxPlainBytes = 65_536;
/** The compression of Postgres makes nothing smaller than a ninetieth: what is left of this has 720 KiB at most. */
const maxCompressedBytes = 8_192;

/** Reads cost the database more than writes: several at once use several of its cores. */
const maxReadsInFlight = 2;
/** Traces of one statement at most, so that the answer of one waits for few others. */
const maxTracesPerStatement = 32;

/** The columns whose values may be compressed. */
const heavyColumns = (withAttributes: boolean) => [
  "input",
  "output",
  "error",
  ...(withAttributes ? ["attributes"] : []),
];

/** The bytes that are stored of columns, compressed or not. */
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
 * Small traces as the JSON text that goes to the client; null where a trace is large. Opaque JSON is copied as text and never
 * parsed. Spans come in the order they were received, since their ids rise. Text is put together here because that takes half
 * the time of `json_build_object`. Nothing is uncompressed to find out that a trace is large. One probe of `trace_pkey` and two
 * reads of one range of `span_pkey` for a trace; both start with the account, so that a foreign trace is not found. Sessions
 * speak UTC.
 */
const readTracesSql = (withAttributes: boolean) => `
  SELECT q.place::int, CASE WHEN size.fits THEN concat(${traceJson}, spans.json, ']}') END AS json
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, place)
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

/** A trace as JSON text, whole or in pieces; undefined where the account has none with that id. */
export type ReadTrace = (trace: TraceToRead) => Promise<string | AsyncIterable<string> | undefined>;

/** Reads traces with their spans: small ones together, and each large one apart and in pieces. */
export function createTraceReader(deps: Parameters<typeof createLargeTraceReader>[0]): ReadTrace {
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
  const { rows } = await pool.query<{ place: number; json: string | null }>({
    ...(traces[0]?.withAttributes ? readWithAttributes : readPlain),
    values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId)],
  });
  const results: ({ json: string | null } | undefined)[] = traces.map(() => undefined);
  for (const row of rows) results[row.place - 1] = row;
  return results;
}
