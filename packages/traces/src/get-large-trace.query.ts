import { type CreateGroupCommit, smallestUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { createChunkBudget, maxSmallChunkBytes } from "./chunk-budget.js";
import { ofContext, spanJson, type TraceToRead, traceJson } from "./trace-json.js";

const maxChunkSpans = 1_000;
/** A single span may be larger and then makes a chunk alone. */
const maxChunkBytes = 262_144;
/** Member names, id, status and times. */
const spanOverheadBytes = 320;
/** Stored bytes of the spans that one statement uncompresses to measure a chunk. */
const maxStoredBytes = 262_144;

/** Of all accounts; the pool's other connections are left to writes and small reads. */
const maxChunksInFlight = 3;
const maxChunksPerAccount = 1;

/** Answers with large traces under way, at most: clients that never read theirs hold little memory. */
export const largeAnswerLimits = {
  name: "large_answers",
  total: 128,
  perAccount: 32,
  reason: (most: number) => `At most ${most} answers with large traces may be under way`,
} as const;

/** A counter within {@link largeAnswerLimits}, such as `createShares` of `@waymark/service/http`. */
interface LargeAnswers {
  /** Beyond a limit it counts nothing and returns the refusal. */
  take(accountId: string, count: number): Error | undefined;
  give(accountId: string, count: number): void;
}

export interface TraceReaderDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  largeAnswers: LargeAnswers;
}

/** SQL for the bytes of a span `s` as JSON, with escapes. */
function jsonBytes(withAttributes: boolean): string {
  const sizes = [
    ...["input", "output", ...(withAttributes ? ["attributes"] : [])].map(
      (column) => `octet_length(s.${column}::text)`,
    ),
    ...["error", "name", "parent_span_id"].map((column) => `octet_length(to_json(s.${column})::text)`),
    ...(withAttributes ? ["resource_id", "scope_id"].map((id) => ofContext("bytes", id)) : []),
  ];
  return [String(spanOverheadBytes), ...sizes.map((size) => `COALESCE(${size}, 0)`)].join(" + ");
}

function storedBytes(withAttributes: boolean): string {
  const columns = ["name", "input", "output", "error", "parent_span_id", ...(withAttributes ? ["attributes"] : [])];
  return columns.map((column) => `COALESCE(pg_column_size(s.${column}), 0)`).join(" + ");
}

/**
 * A chunk of a trace as JSON text: the spans after $3, up to $4 bytes or one span. The first chunk opens the trace, the last
 * one closes it. `near` bounds by stored bytes how much `measured` uncompresses; `json` is null if the chunk has more than $5
 * bytes. One probe of `trace_pkey` and ranges of `span_pkey`; both keys start with the account. Sessions run in UTC.
 */
const readChunkSql = (withAttributes: boolean) => `
  WITH near AS MATERIALIZED (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last FROM (
      SELECT s.id, sum(${storedBytes(withAttributes)}) OVER (ORDER BY s.id) AS stored, row_number() OVER (ORDER BY s.id) AS n
      FROM (SELECT * FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3 ORDER BY id LIMIT ${maxChunkSpans}) s
    ) r WHERE stored <= ${maxStoredBytes} OR n = 1
  ), measured AS MATERIALIZED (
    SELECT s.id, ${jsonBytes(withAttributes)} AS bytes
    FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND s.id <= (SELECT last FROM near)
  ), fitting AS MATERIALIZED (
    SELECT id, bytes FROM (
      SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS total, row_number() OVER (ORDER BY id) AS n FROM measured
    ) r WHERE total <= $4 OR n = 1
  ), chunk AS (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last, COALESCE(sum(bytes), 0)::int AS bytes FROM fitting
  ), ended AS (
    SELECT chunk.last, chunk.bytes
        + CASE WHEN $3 = '${smallestUuid}' THEN COALESCE(octet_length(t.metadata::text), 0) ELSE 0 END AS bytes,
      chunk.last IS NULL OR NOT EXISTS (
        SELECT FROM span WHERE account_id = $1 AND trace_id = $2 AND id > chunk.last) AS is_last
    FROM chunk JOIN trace t ON t.account_id = $1 AND t.id = $2
  )
  SELECT ended.last, ended.bytes, ended.is_last, CASE WHEN ended.bytes <= $5 THEN concat(
    CASE WHEN $3 = '${smallestUuid}' THEN ${traceJson} WHEN spans.json IS NOT NULL THEN ',' END,
    spans.json, CASE WHEN ended.is_last THEN ']}' END) END AS json
  FROM ended JOIN trace t ON t.account_id = $1 AND t.id = $2,
  LATERAL (
    SELECT string_agg(${spanJson(withAttributes)}, ',' ORDER BY s.id) AS json FROM span s
    WHERE ended.bytes <= $5 AND s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND s.id <= ended.last
  ) spans`;

interface ChunkToRead extends TraceToRead {
  after: string;
  /** A larger chunk is measured, not read. */
  maxBytes: number;
}

interface Chunk {
  json: string | null;
  bytes: number;
  /** Null without spans. */
  last: string | null;
  is_last: boolean;
}

/**
 * Reads each chunk after the client took the one before: memory stays flat, and a slow client holds no connection. Throws
 * AppError 429 or 503 before the first chunk if too many answers are under way, 404 when the trace is deleted meanwhile.
 */
export function createLargeTraceReader(deps: TraceReaderDeps) {
  const { pool, createGroupCommit, largeAnswers } = deps;
  const budget = createChunkBudget();
  const readChunk = createGroupCommit<ChunkToRead, Chunk | undefined>({
    name: "read-large-trace",
    run: (chunks) => Promise.all(chunks.map((chunk) => readChunkOf(pool, chunk))),
    maxInFlight: maxChunksInFlight,
    maxInFlightPerOwner: maxChunksPerAccount,
    maxRows: 1,
  });

  async function* readChunks(trace: TraceToRead): AsyncGenerator<string, void, void> {
    let after = smallestUuid;
    for (let isLast = false; !isLast; ) {
      let held = 0;
      try {
        let chunk = await readChunk({ ...trace, after, maxBytes: maxSmallChunkBytes });
        while (chunk?.json === null) {
          budget.give(trace.accountId, held);
          held = 0;
          held = await budget.take(trace.accountId, chunk.bytes);
          chunk = await readChunk({ ...trace, after, maxBytes: chunk.bytes });
        }
        if (!chunk) throw new AppError("trace_not_found");
        yield chunk.json ?? "";
        isLast = chunk.is_last;
        after = chunk.last ?? after;
      } finally {
        budget.give(trace.accountId, held);
      }
    }
  }

  return async function* readLargeTrace(trace: TraceToRead): AsyncGenerator<string, void, void> {
    const refusal = largeAnswers.take(trace.accountId, 1);
    if (refusal) throw refusal;
    try {
      yield* readChunks(trace);
    } finally {
      largeAnswers.give(trace.accountId, 1);
    }
  };
}

const readPlain = { name: "read-chunk", text: readChunkSql(false) };
const readWithAttributes = { name: "read-chunk-with-attributes", text: readChunkSql(true) };

async function readChunkOf(
  pool: pg.Pool,
  { accountId, traceId, withAttributes, after, maxBytes }: ChunkToRead,
): Promise<Chunk | undefined> {
  const { rows } = await pool.query<Chunk>({
    ...(withAttributes ? readWithAttributes : readPlain),
    values: [accountId, traceId, after, maxChunkBytes, maxBytes],
  });
  return rows[0];
}
