import { type CreateGroupCommit, rowIsLocked, withTransaction } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/http";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import { oneAtATime } from "../batching/one-at-a-time.js";
import { type KeyRefusal, keyStateSql } from "../idempotency/key-state.js";
import type { NewScore } from "./score.schema.js";

export interface ScoreToAdd {
  accountId: string;
  traceId: string;
  /** Null for the whole trace. */
  spanId: string | null;
  id: string;
  score: NewScore;
  idempotency: IdempotencyKey | undefined;
}

export type AddScoreResult =
  | { outcome: "stored" | "replayed"; id: string }
  | { outcome: "trace_not_found" | "span_not_found" | "scores_full" }
  | KeyRefusal;

export const maxScoresPerTrace = 100;

/** One at a time adds to a trace, so that its scores are counted exactly. A probe of `trace_pkey`. */
const lockTraceSql = (onLock: OnLock) => `
  WITH locked AS MATERIALIZED (
    SELECT FROM trace WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE ${skipLockedSql(onLock)}
  )
  SELECT FROM trace WHERE account_id = $1 AND id = $2 AND NOT EXISTS (SELECT FROM locked)`;

const lockStatements = {
  skip: { name: "lock-scored-trace", text: lockTraceSql("skip") },
  wait: { name: "lock-locked-scored-trace", text: lockTraceSql("wait") },
} as const;

/**
 * Stores a score with its idempotency key, if the account has the trace, the trace has the span, and there is room. Probes of
 * `trace_pkey`, `span_pkey` and `idempotency_key_pkey`, and the trace's range of `score_pkey`.
 */
const addScoreSql = `
  WITH r AS (
    SELECT $1::uuid AS account_id, $2::uuid AS trace_id, $3::uuid AS span_id, $10::text AS key, $11::bytea AS request_hash
  ), asked AS MATERIALIZED (
    SELECT r.*, k.ids[1] AS earlier_id, CASE WHEN r.key IS NULL THEN 'new' ELSE ${keyStateSql} END AS state,
      EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) AS has_trace,
      r.span_id IS NULL OR EXISTS (
        SELECT FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = r.span_id
      ) AS has_span,
      (SELECT count(*) FROM score s WHERE s.account_id = r.account_id AND s.trace_id = r.trace_id) >= $12 AS is_full
    FROM r LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
  ), stored AS (
    INSERT INTO score (account_id, trace_id, span_id, id, name, kind, number, text, comment)
    SELECT account_id, trace_id, span_id, $4, $5, $6, $7, $8, $9 FROM asked
    WHERE state = 'new' AND has_trace AND has_span AND NOT is_full
    RETURNING id
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, ARRAY[stored.id] FROM asked, stored WHERE key IS NOT NULL
  )
  SELECT CASE WHEN state <> 'new' THEN state WHEN NOT has_trace THEN 'trace_not_found' WHEN NOT has_span THEN 'span_not_found'
    WHEN is_full THEN 'scores_full' ELSE 'stored' END, earlier_id
  FROM asked`;

/** Makes a function that stores scores, two at a time and one of an account. */
export function createScoreAdder({ pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit }) {
  return createGroupCommit<ScoreToAdd, AddScoreResult>({
    name: "add-score",
    run: (scores) => Promise.all(scores.map((score) => lockAndAdd(pool, score, "skip"))),
    runLocked: (scores) => Promise.all(scores.map((score) => lockAndAdd(pool, score, "wait"))),
    ...oneAtATime,
  });
}

function lockAndAdd(pool: pg.Pool, score: ScoreToAdd, onLock: OnLock): Promise<AddScoreResult | typeof rowIsLocked> {
  return withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...lockStatements[onLock], values: [score.accountId, score.traceId] });
    const isLocked = onLock === "skip" && rowCount === 1;
    return isLocked ? rowIsLocked : addScore(client, score);
  });
}

async function addScore(
  client: pg.ClientBase,
  { accountId, traceId, spanId, id, ...rest }: ScoreToAdd,
): Promise<AddScoreResult> {
  const { name, value, comment } = rest.score;
  const kind = typeof value === "string" ? "text" : typeof value;
  const number = typeof value === "string" ? null : Number(value);
  const text = typeof value === "string" ? value : null;
  const { rows } = await client.query<[AddScoreResult["outcome"], string | null]>({
    name: "add-score",
    text: addScoreSql,
    rowMode: "array",
    values: [
      ...[accountId, traceId, spanId, id, name, kind, number, text, comment ?? null],
      ...[rest.idempotency?.key ?? null, rest.idempotency?.requestHash ?? null, maxScoresPerTrace],
    ],
  });
  const [outcome = "trace_not_found", earlierId] = rows[0] ?? [];
  if (outcome === "stored") return { outcome, id };
  return outcome === "replayed" ? { outcome, id: earlierId ?? "" } : { outcome };
}
