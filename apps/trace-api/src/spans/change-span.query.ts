import { binaryArray, type CreateGroupCommit, idBounds, type rowIsLocked, withTransaction } from "@waymark/database";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import {
  type BytesUsed,
  byteValues,
  grantBytesSql,
  lockedUsageSql,
  refusalOfBytes,
  usedBytesSql,
} from "../usage/stored-bytes.js";
import { insertCalls, mergeAttributes } from "./merge-attributes.query.js";
import type { SpanToChange } from "./span-to-change.js";

/** `failing_changed`: the span had the status `error` before or has it now. */
export type ChangeSpanResult =
  | { outcome: "changed" | "failing_changed"; usedBytes: number | null }
  | { outcome: "trace_not_found" | "span_not_found" | "attributes_too_large" }
  | ({ outcome: "byte_limit" } & BytesUsed);

/**
 * Sets the given fields, null too, of a span in a trace of the account, and counts new contents in its month ($13). A statement
 * changes each span at most once. It locks the spans, then the months, and on `skip` reports rows of other transactions as
 * `locked`. One probe of `trace_pkey` and two of `span_pkey` per change, two of `trace_usage_pkey` per account with contents.
 */
const changeSpansSql = (onLock: OnLock, setsAttributes: boolean) => `
  WITH asked AS MATERIALIZED (
    SELECT c.*, t.id IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::boolean[], $6::timestamptz[], $7::boolean[], $8::json[],
      $9::boolean[], $10::text[], $14::int[], $15::bigint[]${setsAttributes ? ", $16::json[]" : ""}) WITH ORDINALITY
      AS c (account_id, trace_id, id, status, sets_ended_at, ended_at, sets_output, output, sets_error, error, bytes_to_add, max_bytes,
        ${setsAttributes ? "attributes, " : ""}position)
    LEFT JOIN trace t ON t.account_id = c.account_id AND t.id = c.trace_id
  ), own AS MATERIALIZED (
    SELECT c.position, c.account_id, c.bytes_to_add, c.max_bytes, s.status = 'error' AS had_failed FROM asked c
    JOIN span s ON s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    WHERE c.has_trace AND s.trace_id BETWEEN $11 AND $12 FOR NO KEY UPDATE OF s ${skipLockedSql(onLock)}
  ), ${lockedUsageSql(onLock, { accounts: "ARRAY(SELECT account_id FROM own WHERE bytes_to_add > 0)", month: "$13" })}
  , ${grantBytesSql("own", "$13")}
  , changed AS (
    UPDATE span s SET
      status = COALESCE(c.status, s.status),
      ended_at = CASE WHEN c.sets_ended_at THEN c.ended_at ELSE s.ended_at END,
      output = CASE WHEN c.sets_output THEN c.output ELSE s.output END,
      error = CASE WHEN c.sets_error THEN c.error ELSE s.error END,
      ${setsAttributes ? "attributes = c.attributes, " : ""}written_at = now()
    FROM asked c JOIN granted USING (position)
    WHERE s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id AND s.trace_id BETWEEN $11 AND $12
    RETURNING c.position, had_failed OR s.status = 'error' AS is_failing
  )
  SELECT CASE WHEN NOT has_trace THEN 'trace_not_found' WHEN changed.is_failing THEN 'failing_changed' WHEN changed.position IS NOT NULL THEN 'changed'
    WHEN EXISTS (
      SELECT FROM span s
      WHERE s.account_id = asked.account_id AND s.trace_id = asked.trace_id AND s.id = asked.id AND s.trace_id BETWEEN $11 AND $12
    ) THEN 'locked' ELSE 'span_not_found' END,
    CASE WHEN bytes_to_add > 0 THEN ${usedBytesSql("asked.account_id", "$13")} END
  FROM asked LEFT JOIN changed USING (position) ORDER BY position`;

const statements = {
  skip: { name: "change-spans", text: changeSpansSql("skip", false) },
  wait: { name: "change-locked-spans", text: changeSpansSql("wait", false) },
} as const;

/** For spans that the same transaction has locked. */
const attributeStatements = {
  skip: { name: "change-spans-with-attributes", text: changeSpansSql("skip", true) },
  wait: { name: "change-locked-spans-with-attributes", text: changeSpansSql("wait", true) },
} as const;

/** Makes a function that changes spans; changes of one span keep their order. */
export function createSpanChanger({
  pool,
  createGroupCommit,
  priceUsage,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  priceUsage: PriceUsage;
}) {
  const changeSpans = createChanges(pool, priceUsage);
  return createGroupCommit<SpanToChange, ChangeSpanResult>({
    name: "change-span",
    run: (changes) => changeSpans(changes, "skip"),
    runLocked: (changes) => changeSpans(changes, "wait"),
    // Another transaction deleted the span while the statement waited for its lock, or inserted the month: both are seen next.
    giveUp: () => undefined,
    bytesOf: ({ bytes }) => bytes,
    kindOf: ({ change, month }) => (change.attributes === undefined ? month : `${month} attributes`),
    targetOf,
  });
}

function targetOf({ accountId, traceId, spanId }: SpanToChange): string {
  return `${accountId}${traceId}${spanId}`;
}

function createChanges(pool: pg.Pool, priceUsage: PriceUsage) {
  return async (
    changes: readonly SpanToChange[],
    onLock: OnLock,
  ): Promise<(ChangeSpanResult | typeof rowIsLocked)[]> => {
    // All instances lock rows in this order and so do not deadlock.
    const sorted = changes.toSorted((a, b) => (targetOf(a) < targetOf(b) ? -1 : 1));
    const answers = sorted.some(({ change }) => change.attributes !== undefined)
      ? await changeWithAttributes(pool, priceUsage, sorted, onLock)
      : await runChanges(pool, statements[onLock], sorted);
    const answerOf = new Map(sorted.map((change, index) => [change, answers[index]]));
    return changes.map((change) => {
      const [outcome, usedBytes] = answerOf.get(change) ?? ["trace_not_found", null];
      if (outcome === "locked") return refusalOfBytes(change, usedBytes);
      return outcome === "changed" || outcome === "failing_changed" ? { outcome, usedBytes } : { outcome };
    });
  };
}

/** `locked` has the month's bytes too: they may refuse the change. */
type ChangeAnswer = [outcome: Exclude<ChangeSpanResult["outcome"], "byte_limit"> | "locked", usedBytes: number | null];

/** Locks the spans, merges their attributes, changes those that can be changed, and stores what they report now. */
function changeWithAttributes(
  pool: pg.Pool,
  priceUsage: PriceUsage,
  changes: readonly SpanToChange[],
  onLock: OnLock,
): Promise<ChangeAnswer[]> {
  return withTransaction(pool, async (client) => {
    const merged = await mergeAttributes(client, changes, onLock, priceUsage);
    const ready = changes.filter((_, index) => typeof merged[index] === "object");
    const attributes = merged.flatMap((each) => (typeof each === "object" ? [each.attributes] : []));
    const changed = await runChanges(client, attributeStatements[onLock], ready, [binaryArray("json", attributes)]);
    let next = 0;
    const answers = merged.map((each): ChangeAnswer => {
      return typeof each === "object" ? (changed[next++] ?? ["locked", null]) : [each, null];
    });
    const isChanged = answers.map(([outcome]) => outcome === "changed" || outcome === "failing_changed");
    await insertCalls(client, changes, merged, isChanged);
    return answers;
  });
}

async function runChanges(
  db: pg.Pool | pg.PoolClient,
  statement: { name: string; text: string },
  changes: readonly SpanToChange[],
  more: readonly unknown[] = [],
): Promise<ChangeAnswer[]> {
  const traceIds = changes.map(({ traceId }) => traceId.toLowerCase());
  const { rows } = await db.query<ChangeAnswer>({
    ...statement,
    rowMode: "array",
    values: [
      changes.map(({ accountId }) => accountId),
      traceIds,
      changes.map(({ spanId }) => spanId),
      changes.map(({ change }) => change.status),
      changes.map(({ change }) => change.ended_at !== undefined),
      changes.map(({ change }) => change.ended_at),
      changes.map(({ change }) => change.output !== undefined),
      changes.map(({ change }) => change.output?.text),
      changes.map(({ change }) => change.error !== undefined),
      changes.map(({ change }) => change.error),
      ...idBounds(traceIds),
      changes[0]?.month,
      ...byteValues(changes),
      ...more,
    ],
  });
  return rows;
}
