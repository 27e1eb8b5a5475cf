import { rowIsLocked, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { textField } from "@waymark/service/fields";
import type { IdempotencyKey } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { type Batching, type OnLock, oneAtATime, onLockStatements, skipLockedSql } from "../batching.js";
import { type KeyRefusal, keyStateSql } from "../idempotency-key.js";
import {
  type BytesUsed,
  type CountedRequest,
  grantBytesSql,
  lockedUsageSql,
  refusalOfBytes,
  storedBytes,
  usedBytesSql,
} from "../stored-bytes.js";
import { maxScoresPerTrace } from "../trace-fields.js";
import { maxScoreName } from "./read-scores.query.js";

const maxTextLength = 1_000;
/** As many digits as `min_score` and `max_score` take. */
const maxNumber = 1e15;
const valueMessage = `Must be a number from -1e15 to 1e15, true, false, or a text of 1 to ${maxTextLength.toLocaleString("en")} characters`;

/** The body of a new score, of a trace or of a span. */
export const newScoreSchema = z.object({
  name: textField({ min: 1, max: maxScoreName }).describe("What the score is about: `helpful`, `accuracy`"),
  value: z.union([z.number().min(-maxNumber).max(maxNumber), z.boolean(), textField({ min: 1, max: maxTextLength })], {
    error: valueMessage,
  }),
  comment: textField({ max: 4_000 }).nullish(),
});

type NewScore = z.output<typeof newScoreSchema>;

export interface ScoreToAdd extends CountedRequest {
  accountId: string;
  traceId: string;
  /** Null for the whole trace. */
  spanId: string | null;
  id: string;
  score: NewScore;
  /** Who gives it by hand. */
  personId?: string;
  idempotency?: IdempotencyKey | undefined;
}

export type AddScoreResult =
  | ({ outcome: "stored"; id: string } & BytesUsed)
  | ({ outcome: "byte_limit" } & BytesUsed)
  | { outcome: "replayed"; id: string }
  | { outcome: "trace_not_found" | "span_not_found" | "scores_full" }
  | KeyRefusal;

/** One at a time adds to a trace, so that its scores are counted exactly. A probe of `trace_pkey`. */
const lockTraceSql = (onLock: OnLock) => `
  WITH locked AS MATERIALIZED (
    SELECT FROM trace WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE ${skipLockedSql(onLock)}
  )
  SELECT FROM trace WHERE account_id = $1 AND id = $2 AND NOT EXISTS (SELECT FROM locked)`;

const lockStatements = onLockStatements("lock-scored-trace", lockTraceSql);

/**
 * Stores a score with its idempotency key, if the account has the trace, the trace has the span, and there is room in the
 * trace and in the month ($13). Probes of `trace_usage_pkey`, `trace_pkey`, `span_pkey` and `idempotency_key_pkey`, and the
 * trace's range of `score_pkey`.
 */
const addScoreSql = (onLock: OnLock, takesKeys: boolean) => `
  WITH r AS (
    SELECT $1::uuid AS account_id, $2::uuid AS trace_id, $3::uuid AS span_id, $10::text AS key, $11::bytea AS request_hash
  ), asked AS MATERIALIZED (
    SELECT r.*, ${takesKeys ? `k.ids[1] AS earlier_id, CASE WHEN r.key IS NULL THEN 'new' ELSE ${keyStateSql} END` : "NULL AS earlier_id, 'new'"} AS state,
      EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) AS has_trace,
      r.span_id IS NULL OR EXISTS (
        SELECT FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = r.span_id
      ) AS has_span,
      (SELECT count(*) FROM score o WHERE o.account_id = r.account_id AND o.trace_id = r.trace_id) >= $12 AS is_full
    FROM r ${takesKeys ? "LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key" : ""}
  ), wanted AS MATERIALIZED (
    SELECT asked.*, 1 AS position, $14::int AS bytes_to_add, $15::bigint AS max_bytes FROM asked
    WHERE state = 'new' AND has_trace AND has_span AND NOT is_full
  ), ${lockedUsageSql(onLock, { accounts: "ARRAY(SELECT account_id FROM wanted)", month: "$13" })}
  , ${grantBytesSql("wanted", "$13")}
  , stored AS (
    INSERT INTO score (account_id, trace_id, span_id, id, name, kind, number, text, comment, person_id)
    SELECT account_id, trace_id, span_id, $4, $5, $6, $7, $8, $9, $16 FROM granted
    RETURNING id
  )${takesKeys ? rememberedSql : ""}
  SELECT CASE WHEN state <> 'new' THEN state WHEN NOT has_trace THEN 'trace_not_found' WHEN NOT has_span THEN 'span_not_found'
    WHEN is_full THEN 'scores_full' WHEN EXISTS (SELECT FROM granted) THEN 'stored' ELSE 'refused' END, earlier_id,
    ${usedBytesSql("asked.account_id", "$13")}
  FROM asked`;

const rememberedSql = `, remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, ARRAY[stored.id] FROM asked, stored WHERE key IS NOT NULL
  )`;

type Statements = ReturnType<typeof onLockStatements>;

const keyStatements = onLockStatements("add-score", (onLock) => addScoreSql(onLock, true));
const plainStatements = onLockStatements("add-plain-score", (onLock) => addScoreSql(onLock, false));

/** Makes a function that stores scores, two at a time and one of an account. Who takes no keys needs no rights to their table. */
export function createScoreAdder({ pool, createGroupCommit }: Batching, { takesKeys }: { takesKeys: boolean }) {
  const statements = takesKeys ? keyStatements : plainStatements;
  const run = (onLock: OnLock) => (scores: readonly ScoreToAdd[]) =>
    Promise.all(scores.map((score) => lockAndAdd(pool, score, { onLock, statements })));
  return createGroupCommit<ScoreToAdd, AddScoreResult>({
    name: "add-score",
    run: run("skip"),
    runLocked: run("wait"),
    // The next statement sees the month's row that another request inserted meanwhile.
    giveUp: () => undefined,
    ...oneAtATime,
  });
}

interface HowToAdd {
  onLock: OnLock;
  statements: Statements;
}

function lockAndAdd(pool: pg.Pool, score: ScoreToAdd, how: HowToAdd): Promise<AddScoreResult | typeof rowIsLocked> {
  const { onLock } = how;
  return withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...lockStatements[onLock], values: [score.accountId, score.traceId] });
    const isLocked = onLock === "skip" && rowCount === 1;
    return isLocked ? rowIsLocked : addScore(client, score, how);
  });
}

/** The stored score. @throws AppError why it is not */
export function requireStored(
  result: AddScoreResult,
  byteLimitOf: (usedBytes: number) => AppError,
): Extract<AddScoreResult, { id: string }> {
  if ("id" in result) return result;
  if (result.outcome === "byte_limit") throw byteLimitOf(result.usedBytes);
  const { outcome } = result;
  if (outcome === "key_reused" || outcome === "key_in_use") throw new Error("The guard of keys answers for them");
  throw new AppError(outcome, outcome === "scores_full" ? { details: { limit: maxScoresPerTrace } } : {});
}

/** What a score counts in its account's month. */
export function bytesOfScore({ name, value, comment }: NewScore): number {
  return storedBytes([name, typeof value === "string" ? value : null, comment]);
}

type Answer = [
  outcome: Exclude<AddScoreResult["outcome"], "byte_limit"> | "refused",
  earlierId: string | null,
  usedBytes: number | null,
];

async function addScore(
  client: pg.ClientBase,
  toAdd: ScoreToAdd,
  { onLock, statements }: HowToAdd,
): Promise<AddScoreResult | typeof rowIsLocked> {
  const { accountId, traceId, spanId, id, score, idempotency, month, bytes, plan, personId = null } = toAdd;
  const { name, value, comment } = score;
  const kind = typeof value === "string" ? "text" : typeof value;
  const number = typeof value === "string" ? null : Number(value);
  const text = typeof value === "string" ? value : null;
  const { rows } = await client.query<Answer>({
    ...statements[onLock],
    rowMode: "array",
    values: [
      ...[accountId, traceId, spanId, id, name, kind, number, text, comment ?? null],
      ...[idempotency?.key ?? null, idempotency?.requestHash ?? null, maxScoresPerTrace],
      ...[month, bytes, plan.bytesPerMonth, personId],
    ],
  });
  const [outcome = "trace_not_found", earlierId = null, usedBytes = null] = rows[0] ?? [];
  if (outcome === "refused") return refusalOfBytes(toAdd, usedBytes);
  if (outcome === "stored") return { outcome, id, usedBytes: usedBytes ?? 0 };
  return outcome === "replayed" ? { outcome, id: earlierId ?? "" } : { outcome };
}
