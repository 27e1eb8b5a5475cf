import { idBounds } from "@waymark/database";
import { jsonMembers, mergeMembers } from "@waymark/service/fields";
import { storedAttributes } from "@waymark/traces";
import { type ModelUsage, maxAttributesBytes, usageOfJson } from "@waymark/traces/otlp";
import type pg from "pg";
import { keepTraceSql, type OnLock, skipLockedSql } from "../batching/on-lock.js";
import { callValues, insertCallsSql, type ModelCall, type PriceUsage } from "../model-calls/model-call.js";
import type { SpanToChange } from "./span-to-change.js";

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
    JOIN span s ON s.account_id = c.account_id AND s.trace_id = c.trace_id AND s.id = c.id
      AND s.trace_id BETWEEN $4 AND $5
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
      WHERE s.account_id = asked.account_id AND s.trace_id = asked.trace_id AND s.id = asked.id AND s.trace_id BETWEEN $4 AND $5
    ) THEN 'locked' ELSE 'span_not_found' END, attributes, started_at
  FROM asked LEFT JOIN kept USING (position) LEFT JOIN locked USING (position) ORDER BY position`;

const statements = {
  skip: { name: "lock-spans", text: lockSpansSql("skip") },
  wait: { name: "lock-locked-spans", text: lockSpansSql("wait") },
} as const;

type LockedRow = [
  "found" | "trace_not_found" | "span_not_found" | "locked",
  attributes: string | null,
  startedAt: string,
];

/** Merges the attributes of changes into those of their spans, which stay locked until the transaction ends. */
export async function mergeAttributes(
  client: pg.PoolClient,
  changes: readonly SpanToChange[],
  onLock: OnLock,
  priceUsage: PriceUsage,
): Promise<Merged[]> {
  const traceIds = changes.map(({ traceId }) => traceId.toLowerCase());
  const { rows } = await client.query<LockedRow>({
    ...statements[onLock],
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

/** Stores what changed spans report now, as the latest version. */
export async function insertCalls(
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
