import { idBounds, type rowIsLocked, withTransaction } from "@waymark/database";
import { jsonMembers, mergeMembers } from "@waymark/service/fields";
import {
  type Batching,
  type BytesUsed,
  type Columns,
  type CountedRequest,
  changedNames,
  columnArrays,
  fieldOf,
  grantBytesSql,
  isSpanSql,
  keepTraceSql,
  lockedUsageSql,
  type OnLock,
  onLockStatements,
  refusalOfBytes,
  type SpanChange,
  sizedNames,
  skipLockedSql,
  storedAttributes,
  storedBytes,
  textOf,
  unnestSql,
  usedBytesSql,
} from "@waymark/traces";
import { type ModelUsage, maxAttributesBytes, usageOfJson } from "@waymark/traces/otlp";
import type pg from "pg";
import { callValues, insertCallsSql, type ModelCall, type PriceUsage } from "../model-calls/model-call.js";

export interface SpanToChange extends CountedRequest {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null for a text that is no id: the statement then looks for the trace only. */
  spanId: string | null;
  change: SpanChange;
}

const sized = changedNames.filter((name) => sizedNames().includes(name));

/** What a change counts in its account's month: new contents count as a row of their own, and others nothing. */
export function bytesOfChange(change: SpanChange): number {
  const texts = sized.map((name) => textOf(change[name]));
  return texts.some(Boolean) ? storedBytes(texts) : 0;
}

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
    JOIN span s ON ${isSpanSql(["c.account_id", "c.trace_id", "c.id"])}
    WHERE c.has_trace AND s.trace_id BETWEEN $2 AND $3 FOR NO KEY UPDATE OF s ${skipLockedSql(onLock)}
  ), ${lockedUsageSql(onLock, { accounts: "ARRAY(SELECT account_id FROM own WHERE bytes_to_add > 0)", month: "$1" })}
  , ${grantBytesSql("own", "$1")}
  , changed AS (
    UPDATE span s SET
      ${changed.map((name) => `${name} = CASE WHEN c.sets_${name} THEN c.${name} ELSE s.${name} END`).join(",\n      ")},
      ${setsAttributes ? "attributes = c.attributes, " : ""}written_at = now()
    FROM asked c JOIN granted USING (position)
    WHERE ${isSpanSql(["c.account_id", "c.trace_id", "c.id"])} AND s.trace_id BETWEEN $2 AND $3
    RETURNING c.position, had_failed OR s.status = 'error' AS is_failing
  )
  SELECT CASE WHEN NOT has_trace THEN 'trace_not_found' WHEN changed.is_failing THEN 'failing_changed' WHEN changed.position IS NOT NULL THEN 'changed'
    WHEN EXISTS (
      SELECT FROM span s
      WHERE ${isSpanSql(["asked.account_id", "asked.trace_id", "asked.id"])} AND s.trace_id BETWEEN $2 AND $3
    ) THEN 'locked' ELSE 'span_not_found' END,
    CASE WHEN bytes_to_add > 0 THEN ${usedBytesSql("asked.account_id", "$1")} END
  FROM asked LEFT JOIN changed USING (position) ORDER BY position`;

const statements = onLockStatements("change-spans", (onLock) => changeSpansSql(onLock, false));

/** For spans that the same transaction has locked. */
const attributeStatements = onLockStatements("change-spans-with-attributes", (onLock) => changeSpansSql(onLock, true));

/** Makes a function that changes spans; changes of one span keep their order. */
export function createSpanChanger({ pool, createGroupCommit, priceUsage }: Batching & { priceUsage: PriceUsage }) {
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

interface MergedSpan {
  attributes: string | null;
  startedAt: string;
  /** What the span reports now, if that is something else than before. */
  call: ModelCall | undefined;
}

/** The attributes to store, as text, or the reason why a span stays as it is. */
type Merged = MergedSpan | "trace_not_found" | "span_not_found" | "locked" | "attributes_too_large";

/**
 * Keeps traces of the account from deletion, locks their spans in the given order and reads their attributes. On `skip` it
 * reports rows of other transactions as `locked`. A probe of `trace_pkey` and one or two of `span_pkey` per span.
 */
const lockSpansSql = (onLock: OnLock) => `
  WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS c (account_id, trace_id, id, position)
  ), kept AS MATERIALIZED (
    SELECT c.position FROM asked c JOIN trace t ON t.account_id = c.account_id AND t.id = c.trace_id ${keepTraceSql(onLock)}
  ), locked AS MATERIALIZED (
    SELECT c.position, s.attributes::text AS attributes, s.started_at::text AS started_at FROM asked c JOIN kept USING (position)
    JOIN span s ON ${isSpanSql(["c.account_id", "c.trace_id", "c.id"])} AND s.trace_id BETWEEN $4 AND $5
    ORDER BY c.position FOR NO KEY UPDATE OF s ${skipLockedSql(onLock)}
  )
  SELECT CASE WHEN kept.position IS NULL THEN ${
    onLock === "wait"
      ? "'trace_not_found'"
      : `CASE WHEN EXISTS (
        SELECT FROM trace t WHERE t.account_id = asked.account_id AND t.id = asked.trace_id
      ) THEN 'locked' ELSE 'trace_not_found' END`
  } WHEN locked.position IS NOT NULL THEN 'found'
    WHEN EXISTS (
      SELECT FROM span s
      WHERE ${isSpanSql(["asked.account_id", "asked.trace_id", "asked.id"])} AND s.trace_id BETWEEN $4 AND $5
    ) THEN 'locked' ELSE 'span_not_found' END, attributes, started_at
  FROM asked LEFT JOIN kept USING (position) LEFT JOIN locked USING (position) ORDER BY position`;

const lockStatements = onLockStatements("lock-spans", lockSpansSql);

type LockedRow = [
  "found" | "trace_not_found" | "span_not_found" | "locked",
  attributes: string | null,
  startedAt: string,
];

/** Merges the attributes of changes into those of their spans, which stay locked until the transaction ends. */
async function mergeAttributes(
  client: pg.PoolClient,
  changes: readonly SpanToChange[],
  onLock: OnLock,
  priceUsage: PriceUsage,
): Promise<Merged[]> {
  const traceIds = changes.map(({ traceId }) => traceId.toLowerCase());
  const { rows } = await client.query<LockedRow>({
    ...lockStatements[onLock],
    rowMode: "array",
    values: [
      changes.map(({ accountId }) => accountId),
      traceIds,
      changes.map(({ spanId }) => spanId),
      ...idBounds(traceIds),
    ],
  });
  return Promise.all(
    changes.map(async ({ change }, index): Promise<Merged> => {
      const [state, stored, startedAt] = rows[index] ?? ["locked", null, ""];
      if (state !== "found") return state;
      const attributes = merge(stored, change.attributes?.text);
      if (attributes !== null && Buffer.byteLength(attributes) > maxStoredBytes) return "attributes_too_large";
      const [before, usage] = [usageOf(stored), usageOf(attributes)];
      const isSame = JSON.stringify(before) === JSON.stringify(usage);
      const call = isSame ? undefined : usage ? await priceUsage(usage, startedAt) : noCall;
      return { attributes, startedAt, call };
    }),
  );
}

const noCall: ModelCall = { provider: "", model: "", tokens: null, cost: null, isTold: null };

function usageOf(stored: string | null): ModelUsage | null {
  const attributes = stored === null ? undefined : jsonMembers(stored, ["attributes"]).get("attributes");
  return attributes === undefined ? null : usageOfJson(attributes);
}

const insertCallsOfChangesSql = `
  WITH changes AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS c (account_id, trace_id, position)
  )${insertCallsSql(3, "changes")}`;

async function insertCalls(
  client: pg.PoolClient,
  changes: readonly SpanToChange[],
  merged: readonly Merged[],
  isChanged: readonly boolean[],
): Promise<void> {
  const calls = changes.flatMap(({ spanId }, index) => {
    const each = merged[index];
    if (!isChanged[index] || typeof each !== "object" || !each.call || spanId === null) return [];
    return [{ request: index + 1, spanId, startedAt: each.startedAt, call: each.call }];
  });
  if (calls.length === 0) return;
  const owners = [changes.map(({ accountId }) => accountId), changes.map(({ traceId }) => traceId)];
  await client.query({
    name: "insert-calls-of-changes",
    text: insertCallsOfChangesSql,
    values: [...owners, ...callValues(calls)],
  });
}

/** With the name of the member. */
const maxStoredBytes = maxAttributesBytes + storedAttributes("").length;

/** @param changes undefined removes all attributes; those of OpenTelemetry beside them stay */
function merge(stored: string | null, changes: string | undefined): string | null {
  const members = stored === null ? undefined : jsonMembers(stored, ["attributes", "otel"]);
  const otel = members?.get("otel");
  if (changes === undefined && otel === undefined) return null;
  const merged = changes === undefined ? "{}" : mergeMembers(members?.get("attributes") ?? "{}", changes);
  return otel === undefined ? storedAttributes(merged) : `{"attributes":${merged},"otel":${otel}}`;
}
