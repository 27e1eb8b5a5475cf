import { type CreateGroupCommit, rowIsLocked } from "@waymark/database";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import type { SpanChange } from "./span.schema.js";

export interface SpanToChange {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null for a text that is no id: the statement then looks for the trace only. */
  spanId: string | null;
  change: SpanChange;
}

export type ChangeSpanResult = "changed" | "trace_not_found" | "span_not_found";

/**
 * Sets the given fields, null too, of a span in a trace of the account. A statement
 * changes each span at most once. It locks the rows first, and on `skip` reports rows of other transactions as `locked`.
 * One probe of `trace_pkey` and two of `span_pkey` per change.
 */
const changeSpansSql = (onLock: OnLock) => `
  WITH asked AS MATERIALIZED (
    SELECT c.*, t.id IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::boolean[], $6::timestamptz[], $7::boolean[], $8::json[],
      $9::boolean[], $10::text[]) WITH ORDINALITY
      AS c (account_id, trace_id, id, status, sets_ended_at, ended_at, sets_output, output, sets_error, error, position)
    LEFT JOIN trace t ON t.account_id = c.account_id AND t.id = c.trace_id
  ), locked AS MATERIALIZED (
    SELECT c.position FROM asked c
    JOIN span s ON s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    WHERE c.has_trace FOR NO KEY UPDATE OF s ${skipLockedSql(onLock)}
  ), changed AS (
    UPDATE span s SET
      status = COALESCE(c.status, s.status),
      ended_at = CASE WHEN c.sets_ended_at THEN c.ended_at ELSE s.ended_at END,
      output = CASE WHEN c.sets_output THEN c.output ELSE s.output END,
      error = CASE WHEN c.sets_error THEN c.error ELSE s.error END,
      written_at = now()
    FROM asked c JOIN locked USING (position)
    WHERE s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    RETURNING c.position
  )
  SELECT CASE WHEN NOT has_trace THEN 'trace_not_found' WHEN changed.position IS NOT NULL THEN 'changed'
    WHEN EXISTS (
      SELECT FROM span s WHERE s.account_id = asked.account_id AND s.trace_id = asked.trace_id AND s.id = asked.id
    ) THEN 'locked' ELSE 'span_not_found' END
  FROM asked LEFT JOIN changed USING (position) ORDER BY position`;

const statements = {
  skip: { name: "change-spans", text: changeSpansSql("skip") },
  wait: { name: "change-locked-spans", text: changeSpansSql("wait") },
} as const;

/** Makes a function that changes spans; changes of one span keep their order. */
export function createSpanChanger({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<SpanToChange, ChangeSpanResult>({
    name: "change-span",
    run: (changes) => changeSpans(pool, changes, "skip"),
    // Another transaction deleted the span while this statement waited for its lock.
    runLocked: async (changes) =>
      (await changeSpans(pool, changes, "wait")).map((result) => (result === rowIsLocked ? "span_not_found" : result)),
    bytesOf: ({ change }) => (change.output?.text.length ?? 0) + (change.error?.length ?? 0),
    targetOf,
  });
}

function targetOf({ accountId, traceId, spanId }: SpanToChange): string {
  return `${accountId}${traceId}${spanId}`;
}

async function changeSpans(
  pool: pg.Pool,
  changes: readonly SpanToChange[],
  onLock: OnLock,
): Promise<(ChangeSpanResult | typeof rowIsLocked)[]> {
  // All instances lock rows in this order and so do not deadlock.
  const sorted = changes.toSorted((a, b) => (targetOf(a) < targetOf(b) ? -1 : 1));
  const { rows } = await pool.query<[ChangeSpanResult | "locked"]>({
    ...statements[onLock],
    rowMode: "array",
    values: [
      sorted.map(({ accountId }) => accountId),
      sorted.map(({ traceId }) => traceId),
      sorted.map(({ spanId }) => spanId),
      sorted.map(({ change }) => change.status),
      sorted.map(({ change }) => change.ended_at !== undefined),
      sorted.map(({ change }) => change.ended_at),
      sorted.map(({ change }) => change.output !== undefined),
      sorted.map(({ change }) => change.output?.text),
      sorted.map(({ change }) => change.error !== undefined),
      sorted.map(({ change }) => change.error),
    ],
  });
  const resultOf = new Map(sorted.map((change, index) => [change, rows[index]?.[0]]));
  return changes.map((change) => {
    const result = resultOf.get(change) ?? "trace_not_found";
    return result === "locked" ? rowIsLocked : result;
  });
}
