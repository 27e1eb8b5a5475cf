import { smallestUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { type Batching, oneByOne } from "./batching.js";
import { byParts, fieldOf, type SpanPart, sizedNames } from "./span-fields.js";
import { ofContext, type SpanColumns, spanAggregates, spanTexts, type TraceToRead, traceJson } from "./trace-json.js";

const maxChunkSpans = 1_000;
/** A single span may be larger and then makes a chunk alone. */
const maxChunkBytes = 262_144;
/** Member names, id, status and times. */
const spanOverheadBytes = 320;
/** Stored bytes of the spans that one statement uncompresses to measure a chunk. */
const maxStoredBytes = 262_144;

/** Of all accounts; the pool's other connections are left to writes and small reads. */
const maxChunksInFlight = 3;
/** A text with the separator of columns must not break an answer that has begun. */
const withQuotes = true;

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

export interface TraceReaderDeps extends Batching {
  largeAnswers: LargeAnswers;
}

/** SQL for the bytes of a span `s` as JSON, with escapes. */
function jsonBytes(parts: readonly SpanPart[]): string {
  const contexts = parts.includes("attributes") ? ["resource_id", "scope_id"] : [];
  const sizes = [
    ...sizedNames(parts).map((name) =>
      fieldOf(name).type === "json" ? `octet_length(s.${name}::text)` : `octet_length(to_json(s.${name})::text)`,
    ),
    ...contexts.map((id) => ofContext("bytes", id)),
  ];
  return [String(spanOverheadBytes), ...sizes.map((size) => `COALESCE(${size}, 0)`)].join(" + ");
}

function storedBytes(parts: readonly SpanPart[]): string {
  return sizedNames(parts)
    .map((name) => `COALESCE(pg_column_size(s.${name}), 0)`)
    .join(" + ");
}

/** Whether a span is of the kinds $7, if given. */
const isWanted = "($7::text[] IS NULL OR COALESCE(kind, 'other') = ANY ($7))";

/**
 * A chunk of a trace: the spans after $3, up to $4 bytes or one span, and with $6 the trace's head. `near` bounds by stored
 * bytes how much `measured` uncompresses; a chunk of more than $5 bytes comes without head and spans. One probe of `trace_pkey` and ranges of `span_pkey`; both keys start with the account. Sessions run in UTC.
 */
const readChunkSql = (parts: readonly SpanPart[]) => `
  WITH near AS MATERIALIZED (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last FROM (
      SELECT s.id, sum(${storedBytes(parts)}) OVER (ORDER BY s.id) AS stored, row_number() OVER (ORDER BY s.id) AS n
      FROM (SELECT * FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3 AND ${isWanted} ORDER BY id LIMIT ${maxChunkSpans}) s
    ) r WHERE stored <= ${maxStoredBytes} OR n = 1
  ), measured AS MATERIALIZED (
    SELECT s.id, ${jsonBytes(parts)} AS bytes
    FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND s.id <= (SELECT last FROM near) AND ${isWanted}
  ), fitting AS MATERIALIZED (
    SELECT id, bytes FROM (
      SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS total, row_number() OVER (ORDER BY id) AS n FROM measured
    ) r WHERE total <= $4 OR n = 1
  ), chunk AS (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last, COALESCE(sum(bytes), 0)::int AS bytes FROM fitting
  ), ended AS (
    SELECT chunk.last, chunk.bytes
        + CASE WHEN $6 THEN COALESCE(octet_length(t.metadata::text), 0) ELSE 0 END AS bytes,
      chunk.last IS NULL OR NOT EXISTS (
        SELECT FROM span WHERE account_id = $1 AND trace_id = $2 AND id > chunk.last AND ${isWanted}) AS is_last
    FROM chunk JOIN trace t ON t.account_id = $1 AND t.id = $2
  )
  SELECT ended.last, ended.bytes, ended.is_last, CASE WHEN $6 AND ended.bytes <= $5 THEN ${traceJson} END AS head, spans.*
  FROM ended JOIN trace t ON t.account_id = $1 AND t.id = $2,
  LATERAL (
    SELECT ${spanAggregates({ parts, withQuotes })} FROM (
      SELECT * FROM span
      WHERE ended.bytes <= $5 AND account_id = $1 AND trace_id = $2 AND id > $3 AND id <= ended.last AND ${isWanted} ORDER BY id
    ) s
  ) spans`;

interface ChunkToRead extends TraceToRead {
  after: string;
  isFirst: boolean;
  /** A larger chunk is measured, not read. */
  maxBytes: number;
}

/** A part of a trace: spans as JSON, and before the first ones the trace's JSON up to them. */
interface TraceChunk {
  head: string | null;
  spans: string[];
  isLast: boolean;
}

interface MeasuredChunk extends TraceChunk {
  bytes: number;
  /** Null without spans. */
  last: string | null;
}

type ReadChunks = (trace: TraceToRead) => AsyncGenerator<TraceChunk, void, void>;

/**
 * Reads each chunk after the client took the one before: memory stays flat, and a slow client holds no connection. Throws
 * AppError 429 or 503 before the first chunk if too many answers are under way, 404 when the trace is deleted meanwhile.
 */
export function createChunkReader(deps: TraceReaderDeps): ReadChunks {
  const { largeAnswers } = deps;
  const budget = createChunkBudget();
  const readChunk = oneByOne(deps, "read-large-trace", readChunkOf, { maxInFlight: maxChunksInFlight });

  async function* readChunks(trace: TraceToRead): AsyncGenerator<TraceChunk, void, void> {
    let after = smallestUuid;
    for (let [isFirst, isLast] = [true, false]; !isLast; isFirst = false) {
      let held = 0;
      try {
        let chunk = await readChunk({ ...trace, after, isFirst, maxBytes: maxSmallChunkBytes });
        for (let most = maxSmallChunkBytes; chunk && chunk.bytes > most; ) {
          budget.give(trace.accountId, held);
          held = 0;
          most = chunk.bytes;
          held = await budget.take(trace.accountId, most);
          chunk = await readChunk({ ...trace, after, isFirst, maxBytes: most });
        }
        if (!chunk) throw new AppError("trace_not_found");
        yield chunk;
        isLast = chunk.isLast;
        after = chunk.last ?? after;
      } finally {
        budget.give(trace.accountId, held);
      }
    }
  }

  return async function* readWithin(trace) {
    const refusal = largeAnswers.take(trace.accountId, 1);
    if (refusal) throw refusal;
    try {
      yield* readChunks(trace);
    } finally {
      largeAnswers.give(trace.accountId, 1);
    }
  };
}

/** The chunks as one JSON text, with further members at its end. */
export async function* textOfChunks(
  chunks: AsyncIterable<TraceChunk>,
  members: string,
): AsyncGenerator<string, void, void> {
  for await (const { head, spans, isLast } of chunks) {
    const start = head ?? (spans.length > 0 ? "," : "");
    // Emptied: while a client reads, the text is all that stays in memory.
    yield `${start}${spans.splice(0).join(",")}${isLast ? `]${members}}` : ""}`;
  }
}

const statementOf = byParts((parts) => ({ name: ["read-chunk", ...parts].join("-"), text: readChunkSql(parts) }));

async function readChunkOf(
  pool: pg.Pool,
  { accountId, traceId, parts, kinds, after, isFirst, maxBytes }: ChunkToRead,
): Promise<MeasuredChunk | undefined> {
  const { rows } = await pool.query<
    SpanColumns & { head: string | null; last: string | null; bytes: number; is_last: boolean }
  >({
    ...statementOf(parts),
    values: [accountId, traceId, after, maxChunkBytes, maxBytes, isFirst, kinds],
  });
  const [row] = rows;
  if (!row) return undefined;
  const { head, last, bytes, is_last: isLast } = row;
  return { head, spans: spanTexts(row, { parts, withQuotes }) ?? [], last, bytes, isLast };
}

/** Chunks up to this size need no budget: the limit of answers under way bounds their sum. */
const maxSmallChunkBytes = 524_288;
/** Larger chunks of all accounts, in bytes that are being read or sent. */
const maxBytes = 64 * 1_048_576;
/** A chunk above this waits until its account has no other large chunk. */
const maxBytesPerAccount = maxBytes / 4;

export interface ChunkBudget {
  /** Waits until the chunk fits; returns the bytes to give back, at most the account's share. */
  take(accountId: string, bytes: number): Promise<number>;
  give(accountId: string, bytes: number): void;
}

/** Makes an unused budget. Each waiter is an answer under way, so their number is bounded. */
export function createChunkBudget(): ChunkBudget {
  const held = new Map<string, number>();
  let heldByAll = 0;
  let waiting: (() => void)[] = [];
  const fits = (accountId: string, bytes: number) =>
    (held.get(accountId) ?? 0) + bytes <= maxBytesPerAccount && heldByAll + bytes <= maxBytes;
  const add = (accountId: string, bytes: number) => {
    const own = (held.get(accountId) ?? 0) + bytes;
    if (own > 0) held.set(accountId, own);
    else held.delete(accountId);
    heldByAll += bytes;
  };
  return {
    async take(accountId, bytes) {
      const taken = Math.min(bytes, maxBytesPerAccount);
      while (!fits(accountId, taken)) await new Promise<void>((resolve) => waiting.push(resolve));
      add(accountId, taken);
      return taken;
    },
    give(accountId, bytes) {
      if (bytes === 0) return;
      add(accountId, -bytes);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
  };
}
