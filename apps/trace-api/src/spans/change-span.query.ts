import { type CreateGroupCommit, rowIsLocked } from "@waymark/database";
import type pg from "pg";
import type { SpanChange } from "./span.schema.js";

/** A change of a span. */
export interface SpanToChange {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null where what the client named is no id, so that only the trace is looked for. */
  spanId: string | null;
  change: SpanChange;
}

export type ChangeSpanResult = "changed" | "trace_not_found" | "span_not_found";

/**
 * Sets what each body gave, null too, where the account has the trace and the trace the span. No span comes twice in a
 * statement. Rows are locked first: those that another transaction has are `locked` with `SKIP LOCKED`, and waited for
 * without. One probe of `trace_pkey` and two of `span_pkey` for a change.
 */
const changeSpansSql = (wait: "" | "SKIP LOCKED") => `
  WITH asked AS MATERIALIZED (
    SELECT c.*, t.id IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::boolean[], $6::timestamptz[], $7::boolean[], $8::json[],
      $9::boolean[], $10::text[]) WITH ORDINALITY
      AS c (account_id, trace_id, id, status, sets_ended_at, ended_at, sets_output, output, sets_error, error, place)
    LEFT JOIN trace t ON t.account_id = c.account_id AND t.id = c.trace_id
  ), locked AS MATERIALIZED (
    SELECT c.place FROM asked c
    JOIN span s ON s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    WHERE c.has_trace FOR NO KEY UPDATE OF s ${wait}
  ), changed AS (
    UPDATE span s SET
      status = COALESCE(c.status, s.status),
      ended_at = CASE WHEN c.sets_ended_at THEN c.ended_at ELSE s.ended_at END,
      output = CASE WHEN c.sets_output THEN c.output ELSE s.output END,
      error = CASE WHEN c.sets_error THEN c.error ELSE s.error END,
      written_at = now()
    FROM asked c JOIN locked USING (place)
    WHERE s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    RETURNING c.place
  )
  SELECT CASE WHEN NOT has_trace THEN 'trace_not_found' WHEN changed.place IS NOT NULL THEN 'changed'
    WHEN EXISTS (
      SELECT FROM span s WHERE s.account_id = asked.account_id AND s.trace_id = asked.trace_id AND s.id = asked.id
    ) THEN 'locked' ELSE 'span_not_found' END
  FROM asked LEFT JOIN changed USING (place) ORDER BY place`;

const changeUnlocked = { name: "change-spans", text: changeSpansSql("SKIP LOCKED") };
const changeLocked = { name: "change-locked-spans", text: changeSpansSql("") };

/** Changes spans of traces. */
export function createSpanChanger({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<SpanToChange, ChangeSpanResult>({
    name: "change-span",
    run: (changes) => changeSpans(pool, changeUnlocked, changes),
    // A span that was deleted while its lock was waited for is not there any more.
    runLocked: async (changes) =>
      (await changeSpans(pool, changeLocked, changes)).map((result) =>
        result === rowIsLocked ? "span_not_found" : result,
      ),
    bytesOf: ({ change }) => (change.output?.text.length ?? 0) + (change.error?.length ?? 0),
    targetOf,
  });
}

function targetOf({ accountId, traceId, spanId }: SpanToChange): string {
  return `${accountId}${traceId}${spanId}`;
}

async function changeSpans(
  pool: pg.Pool,
  statement: { name: string; text: string },
  changes: readonly SpanToChange[],
): Promise<(ChangeSpanResult | typeof rowIsLocked)[]> {
  // In one order everywhere, so that statements of several instances lock the same rows one after the other.
  const sorted = changes.toSorted((a, b) => (targetOf(a) < targetOf(b) ? -1 : 1));
  const { rows } = await pool.query<[ChangeSpanResult | "locked"]>({
    ...statement,
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
