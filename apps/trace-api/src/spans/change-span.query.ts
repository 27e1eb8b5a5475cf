import { type CreateGroupCommit, idBounds, type rowIsLocked, withTransaction } from "@waymark/database";
import { type Columns, changedNames, columnArrays, fieldOf, textOf, unnestSql } from "@waymark/traces";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import { type BytesUsed, grantBytesSql, lockedUsageSql, refusalOfBytes, usedBytesSql } from "../usage/stored-bytes.js";
import { insertCalls, mergeAttributes } from "./merge-attributes.query.js";
import type { SpanToChange } from "./span-to-change.js";

/** `failing_changed`: the span had the status `error` before or has it now. */
export type ChangeSpanResult =
  | { outcome: "changed" | "failing_changed"; usedBytes: number | null }
  | { outcome: "trace_not_found" | "span_not_found" | "attributes_too_large" }
  | ({ outcome: "byte_limit" } & BytesUsed);

/** Attributes are merged first. */
const changed = changedNames.filter((name) => name !== "attributes");
const plainColumns: Columns<SpanToChange> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  trace_id: { type: "uuid", of: ({ traceId }) => traceId.toLowerCase() },
  id: { type: "uuid", of: ({ spanId }) => spanId },
  bytes_to_add: { type: "int", of: ({ bytes }) => bytes },
  max_bytes: { type: "bigint", of: ({ plan }) => plan.bytesPerMonth },
  ...Object.fromEntries(
    changed.flatMap((name): [string, Columns<SpanToChange>[string]][] => [
      [name, { type: fieldOf(name).type, of: ({ change }) => textOf(change[name]) }],
      [`sets_${name}`, { type: "boolean", of: ({ change }) => change[name] !== undefined }],
    ]),
  ),
};
interface MergedChange extends SpanToChange {
  attributes?: string | null;
}
const mergedColumns: Columns<MergedChange> = {
  ...plainColumns,
  attributes: { type: "json", of: ({ attributes }) => attributes },
};

/**
 * Sets the given fields, null too, of a span in a trace of the account, and counts new contents in its month ($1). A statement
 * changes each span at most once. It locks the spans, then the months, and on `skip` reports rows of other transactions as
 * `locked`. One probe of `trace_pkey` and two of `span_pkey` per change, two of `trace_usage_pkey` per account with contents.
 */
const changeSpansSql = (onLock: OnLock, setsAttributes: boolean) => `
  WITH asked AS MATERIALIZED (
    SELECT r.*, t.id IS NOT NULL AS has_trace
    FROM ${unnestSql(4, setsAttributes ? mergedColumns : plainColumns, { hasPosition: true })}
    LEFT JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id
  ), own AS MATERIALIZED (
    SELECT c.position, c.account_id, c.bytes_to_add, c.max_bytes, s.status = 'error' AS had_failed FROM asked c
    JOIN span s ON s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
    WHERE c.has_trace AND s.trace_id BETWEEN $2 AND $3 FOR NO KEY UPDATE OF s ${skipLockedSql(onLock)}
  ), ${lockedUsageSql(onLock, { accounts: "ARRAY(SELECT account_id FROM own WHERE bytes_to_add > 0)", month: "$1" })}
  , ${grantBytesSql("own", "$1")}
  , changed AS (
    UPDATE span s SET
      ${changed.map((name) => `${name} = CASE WHEN c.sets_${name} THEN c.${name} ELSE s.${name} END`).join(",\n      ")},
      ${setsAttributes ? "attributes = c.attributes, " : ""}written_at = now()
    FROM asked c JOIN granted USING (position)
    WHERE s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id AND s.trace_id BETWEEN $2 AND $3
    RETURNING c.position, had_failed OR s.status = 'error' AS is_failing
  )
  SELECT CASE WHEN NOT has_trace THEN 'trace_not_found' WHEN changed.is_failing THEN 'failing_changed' WHEN changed.position IS NOT NULL THEN 'changed'
    WHEN EXISTS (
      SELECT FROM span s
      WHERE s.account_id = asked.account_id AND s.trace_id = asked.trace_id AND s.id = asked.id AND s.trace_id BETWEEN $2 AND $3
    ) THEN 'locked' ELSE 'span_not_found' END,
    CASE WHEN bytes_to_add > 0 THEN ${usedBytesSql("asked.account_id", "$1")} END
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
      : await runChanges(pool, statements[onLock], sorted, plainColumns);
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
    const ready = changes.flatMap((change, index) => {
      const each = merged[index];
      return typeof each === "object" ? [{ ...change, attributes: each.attributes }] : [];
    });
    const answered = await runChanges(client, attributeStatements[onLock], ready, mergedColumns);
    let next = 0;
    const answers = merged.map((each): ChangeAnswer => {
      return typeof each === "object" ? (answered[next++] ?? ["locked", null]) : [each, null];
    });
    const isChanged = answers.map(([outcome]) => outcome === "changed" || outcome === "failing_changed");
    await insertCalls(client, changes, merged, isChanged);
    return answers;
  });
}

async function runChanges<Change extends SpanToChange>(
  db: pg.Pool | pg.PoolClient,
  statement: { name: string; text: string },
  changes: readonly Change[],
  columns: Columns<Change>,
): Promise<ChangeAnswer[]> {
  const traceIds = changes.map(({ traceId }) => traceId.toLowerCase());
  const values = [changes[0]?.month, ...idBounds(traceIds), ...columnArrays(changes, columns)];
  const { rows } = await db.query<ChangeAnswer>({ ...statement, rowMode: "array", values });
  return rows;
}
