import type { CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { createPieceBudget, maxSmallPiece } from "./chunk-budget.js";
import { firstId, ofContext, spanJson, type TraceToRead, traceJson } from "./trace-json.js";

/** Spans of one piece at most. */
const maxPieceSpans = 1_000;
/** Bytes of a piece at most, but for a lone span's. */
const maxPieceBytes = 262_144;
/** Bytes of a span in JSON beside its texts: names of members, id, status and times. */
const spanOverhead = 320;
/** Stored bytes of a piece's spans at most, compressed or not: measuring a piece uncompresses them. */
const maxStoredBytes = 262_144;

/** Pieces that are read at a time. */
const maxPiecesInFlight = 3;
/** Of one account: the others are left to others. */
const maxPiecesPerAccount = 1;

/** Answers with large traces that may be under way, so that readers who never read hold little. */
export const largeAnswerLimits = {
  name: "large_answers",
  total: 128,
  perAccount: 32,
  reason: (most: number) => `At most ${most} answers with large traces may be under way`,
} as const;

/** Counts the answers with large traces that are under way, within {@link largeAnswerLimits}. */
export interface LargeAnswers {
  /** Counts further ones; gives the refusal where they are too many, and then counts nothing. */
  take(accountId: string, count: number): Error | undefined;
  give(accountId: string, count: number): void;
}

/** The bytes of a span `s` in JSON, uncompressed. */
function realBytes(withAttributes: boolean): string {
  const sizes = [
    ...["input", "output", ...(withAttributes ? ["attributes"] : [])].map(
      (column) => `octet_length(s.${column}::text)`,
    ),
    ...["error", "name", "parent_span_id"].map((column) => `octet_length(to_json(s.${column})::text)`),
    ...(withAttributes ? ["resource_id", "scope_id"].map((id) => ofContext("bytes", id)) : []),
  ];
  return [String(spanOverhead), ...sizes.map((size) => `COALESCE(${size}, 0)`)].join(" + ");
}

function storedBytes(withAttributes: boolean): string {
  const columns = ["name", "input", "output", "error", "parent_span_id", ...(withAttributes ? ["attributes"] : [])];
  return columns.map((column) => `COALESCE(pg_column_size(s.${column}), 0)`).join(" + ");
}

/**
 * A piece of a trace as the JSON text that goes to the client: the spans after a given one ($3), of $4 bytes at most but for
 * a lone span; the first begins with the trace itself, the last ends it. Sizes are those that go out: what is stored
 * compressed is uncompressed to be measured, of ${maxStoredBytes} stored bytes at most. `json` is null where the piece has
 * more than $5 bytes. One probe of `trace_pkey` and ranges of `span_pkey`; both start with the account. Sessions speak UTC.
 */
const readPieceSql = (withAttributes: boolean) => `
  WITH near AS MATERIALIZED (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last FROM (
      SELECT s.id, sum(${storedBytes(withAttributes)}) OVER (ORDER BY s.id) AS stored, row_number() OVER (ORDER BY s.id) AS n
      FROM (SELECT * FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3 ORDER BY id LIMIT ${maxPieceSpans}) s
    ) r WHERE stored <= ${maxStoredBytes} OR n = 1
  ), measured AS MATERIALIZED (
    SELECT s.id, ${realBytes(withAttributes)} AS bytes
    FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND s.id <= (SELECT last FROM near)
  ), fitting AS MATERIALIZED (
    SELECT id, bytes FROM (
      SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS total, row_number() OVER (ORDER BY id) AS n FROM measured
    ) r WHERE total <= $4 OR n = 1
  ), piece AS (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last, COALESCE(sum(bytes), 0)::int AS bytes FROM fitting
  ), ended AS (
    SELECT piece.last, piece.bytes
        + CASE WHEN $3 = '${firstId}' THEN COALESCE(octet_length(t.metadata::text), 0) ELSE 0 END AS bytes,
      piece.last IS NULL OR NOT EXISTS (
        SELECT FROM span WHERE account_id = $1 AND trace_id = $2 AND id > piece.last) AS is_last
    FROM piece JOIN trace t ON t.account_id = $1 AND t.id = $2
  )
  SELECT ended.last, ended.bytes, ended.is_last, CASE WHEN ended.bytes <= $5 THEN concat(
    CASE WHEN $3 = '${firstId}' THEN ${traceJson} WHEN spans.json IS NOT NULL THEN ',' END,
    spans.json, CASE WHEN ended.is_last THEN ']}' END) END AS json
  FROM ended JOIN trace t ON t.account_id = $1 AND t.id = $2,
  LATERAL (
    SELECT string_agg(${spanJson(withAttributes)}, ',' ORDER BY s.id) AS json FROM span s
    WHERE ended.bytes <= $5 AND s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND s.id <= ended.last
  ) spans`;

interface PieceToRead extends TraceToRead {
  /** The span after which the piece begins. */
  after: string;
  /** A piece with more bytes is only measured. */
  mostBytes: number;
}

interface Piece {
  /** Null where the piece has more bytes than asked for. */
  json: string | null;
  bytes: number;
  /** Its last span; null where it has none. */
  last: string | null;
  is_last: boolean;
}

/**
 * Reads large traces in pieces, each when the one before has been taken: memory stays flat, and a slow client holds no
 * connection of the pool. Pieces above half a mebibyte, which are single spans, are read within a budget.
 * @returns a function whose pieces throw AppError 429 or 503 before the first where too many answers are under way, and 404
 * where the trace is gone
 */
export function createLargeTraceReader(deps: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  largeAnswers: LargeAnswers;
}) {
  const { pool, createGroupCommit, largeAnswers } = deps;
  const budget = createPieceBudget();
  const readPiece = createGroupCommit<PieceToRead, Piece | undefined>({
    name: "read-large-trace",
    run: (pieces) => Promise.all(pieces.map((piece) => readPieceOf(pool, piece))),
    maxInFlight: maxPiecesInFlight,
    maxInFlightPerOwner: maxPiecesPerAccount,
    maxRows: 1,
  });

  async function* readPieces(trace: TraceToRead): AsyncGenerator<string, void, void> {
    let after = firstId;
    for (let isLast = false; !isLast; ) {
      let held = 0;
      try {
        let piece = await readPiece({ ...trace, after, mostBytes: maxSmallPiece });
        while (piece?.json === null) {
          budget.give(trace.accountId, held);
          held = 0;
          held = await budget.take(trace.accountId, piece.bytes);
          piece = await readPiece({ ...trace, after, mostBytes: piece.bytes });
        }
        if (!piece) throw new AppError("trace_not_found");
        yield piece.json ?? "";
        isLast = piece.is_last;
        after = piece.last ?? after;
      } finally {
        budget.give(trace.accountId, held);
      }
    }
  }

  return async function* readLargeTrace(trace: TraceToRead): AsyncGenerator<string, void, void> {
    const refusal = largeAnswers.take(trace.accountId, 1);
    if (refusal) throw refusal;
    try {
      yield* readPieces(trace);
    } finally {
      largeAnswers.give(trace.accountId, 1);
    }
  };
}

const readPlain = { name: "read-piece", text: readPieceSql(false) };
const readWithAttributes = { name: "read-piece-with-attributes", text: readPieceSql(true) };

async function readPieceOf(
  pool: pg.Pool,
  { accountId, traceId, withAttributes, after, mostBytes }: PieceToRead,
): Promise<Piece | undefined> {
  const { rows } = await pool.query<Piece>({
    ...(withAttributes ? readWithAttributes : readPlain),
    values: [accountId, traceId, after, maxPieceBytes, mostBytes],
  });
  return rows[0];
}
