import { createHash } from "node:crypto";
import type { rowIsLocked } from "@waymark/database";
import {
  type Batching,
  type BytesUsed,
  type Columns,
  type CountedRequest,
  columnArrays,
  grantBytesSql,
  lockedUsageSql,
  type OnLock,
  onLockStatements,
  refusalOfBytes,
  storedBytes,
  unnestSql,
  usedBytesSql,
} from "@waymark/traces";
import type { Context, MappedSpan } from "@waymark/traces/otlp";
import type pg from "pg";
import { inPortions, isRoot, ownBytes, type TraceGroup } from "./trace-group.js";

interface PendingPart {
  otelTraceId: string;
  id: string;
  hasRoot: boolean;
  /** Of a root that has ended. */
  rootName: string | null;
  spans: number;
  bytes: number;
  value: string;
}

interface PartsToAdd extends Omit<CountedRequest, "bytes"> {
  accountId: string;
  parts: readonly PendingPart[];
}

type PartsResult = ({ outcome: "stored"; refused: number } & BytesUsed) | ({ outcome: "byte_limit" } & BytesUsed);

/** Of a pending trace: further ones are refused. Reading a part takes some milliseconds. */
const maxPendingOfTrace = { spans: 2_000, bytes: 4 * 1_048_576 } as const;
/** Of a root, to tell what was dropped. */
const maxNameLength = 200;
const partSize = { items: 500, spans: 500, bytes: 262_144 };

type PartRow = PendingPart & { position: number };

const requestColumns: Columns<PartsToAdd> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  max_bytes: { type: "bigint", of: ({ plan }) => plan.bytesPerMonth },
};
const partColumns: Columns<PartRow> = {
  position: { type: "int", of: ({ position }) => position },
  otel_trace_id: { type: "bytea", of: ({ otelTraceId }) => `\\x${otelTraceId}` },
  id: { type: "uuid", of: ({ id }) => id },
  has_root: { type: "boolean", of: ({ hasRoot }) => hasRoot },
  root_name: { type: "text", of: ({ rootName }) => rootName },
  spans: { type: "int", of: ({ spans }) => spans },
  bytes: { type: "int", of: ({ bytes }) => bytes },
  value: { type: "text", of: ({ value }) => value },
};
const requestsFrom = 2;
const partsFrom = requestsFrom + Object.keys(requestColumns).length;
const requests = unnestSql(requestsFrom, requestColumns, { hasPosition: true });
const storedNames = Object.keys(partColumns)
  .filter((name) => name !== "position")
  .join(", ");

/**
 * Stores new parts of pending traces, but for those above {@link maxPendingOfTrace}, if the month ($1) takes the bytes of a
 * request's. They go in by rising keys, so statements of several instances do not deadlock. A probe and a range of
 * `pending_span_pkey` for a part, a probe of `trace_usage_pkey` for an account.
 */
const insertPartsSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: `$${requestsFrom}::uuid[]`, month: "$1" })}, asked AS MATERIALIZED (
    SELECT * FROM ${requests}
  ), brought AS MATERIALIZED (
    SELECT asked.account_id, r.* FROM ${unnestSql(partsFrom, partColumns)} JOIN asked USING (position)
    WHERE NOT EXISTS (
      SELECT FROM pending_span o WHERE o.account_id = asked.account_id AND o.otel_trace_id = r.otel_trace_id AND o.id = r.id
    )
  ), crowded AS MATERIALIZED (
    SELECT b.account_id, b.otel_trace_id FROM brought b
    CROSS JOIN LATERAL (
      SELECT COALESCE(sum(o.spans), 0) AS spans, COALESCE(sum(o.bytes), 0) AS bytes FROM pending_span o
      WHERE o.account_id = b.account_id AND o.otel_trace_id = b.otel_trace_id
    ) AS present
    GROUP BY b.account_id, b.otel_trace_id, present.spans, present.bytes
    HAVING present.spans + sum(b.spans) > ${maxPendingOfTrace.spans}
      OR present.bytes > 0 AND present.bytes + sum(b.bytes) > ${maxPendingOfTrace.bytes}
  ), wanted AS MATERIALIZED (
    SELECT asked.*, COALESCE(sum(b.bytes) FILTER (WHERE c.account_id IS NULL), 0)::int AS bytes_to_add,
      COALESCE(sum(b.spans) FILTER (WHERE c.account_id IS NOT NULL), 0)::int AS refused
    FROM asked LEFT JOIN brought b USING (position)
    LEFT JOIN crowded c ON c.account_id = b.account_id AND c.otel_trace_id = b.otel_trace_id
    GROUP BY asked.position, asked.account_id, asked.max_bytes
  ), ${grantBytesSql("wanted", "$1")}, stored AS (
    INSERT INTO pending_span (account_id, ${storedNames})
    SELECT account_id, ${storedNames} FROM brought
    WHERE position IN (SELECT position FROM granted) AND (account_id, otel_trace_id) NOT IN (SELECT account_id, otel_trace_id FROM crowded)
    ORDER BY account_id, otel_trace_id, id
    ON CONFLICT (account_id, otel_trace_id, id) DO NOTHING
  )
  SELECT granted.position IS NOT NULL, wanted.bytes_to_add, wanted.refused, ${usedBytesSql("wanted.account_id", "$1")}
  FROM wanted LEFT JOIN granted USING (position) ORDER BY wanted.position`;

const statements = onLockStatements("insert-pending-spans", insertPartsSql);

type Answer = [isStored: boolean, bytesToAdd: number, refused: number, usedBytes: number | null];

export function createPartsStore({ pool, createGroupCommit }: Batching) {
  return createGroupCommit<PartsToAdd, PartsResult>({
    name: "add-pending-spans",
    run: (rows) => insertParts(pool, rows, "skip"),
    runLocked: (rows) => insertParts(pool, rows, "wait"),
    // The month's row exists after a wait.
    giveUp: () => undefined,
    kindOf: ({ month }) => month,
    countOf: ({ parts }) => parts.length,
    bytesOf: ({ parts }) => parts.reduce((sum, { bytes }) => sum + bytes, 0),
  });
}

async function insertParts(
  pool: pg.Pool,
  rows: readonly PartsToAdd[],
  onLock: OnLock,
): Promise<(PartsResult | typeof rowIsLocked)[]> {
  const partRows = rows.flatMap(({ parts }, n) => parts.map((part) => ({ ...part, position: n + 1 })));
  const values = [rows[0]?.month, ...columnArrays(rows, requestColumns), ...columnArrays(partRows, partColumns)];
  const { rows: answers } = await pool.query<Answer>({ ...statements[onLock], rowMode: "array", values });
  return rows.map(({ plan }, index) => {
    const [isStored, bytes, refused, usedBytes] = answers[index] ?? [false, 0, 0, null];
    if (!isStored) return refusalOfBytes({ bytes, plan }, usedBytes);
    return { outcome: "stored", refused, usedBytes: usedBytes ?? 0 };
  });
}

type StoredSpan = Omit<MappedSpan, "resource" | "scope" | "input" | "output" | "extra"> & {
  resource: number;
  scope: number | null;
  input: string | null;
  output: string | null;
  extra: string;
};

/** The spans of a group as parts of their trace; a resource and a scope stand once in each. */
export function* partsOf({ otelTraceId, spans }: TraceGroup): Generator<PendingPart> {
  for (const some of inPortions(spans, partSize, (span) => ({ spans: 1, bytes: ownBytes(span) }))) {
    const contexts: Context[] = [];
    const indexOf = (context: Context) => {
      const known = contexts.indexOf(context);
      return known < 0 ? contexts.push(context) - 1 : known;
    };
    const stored = some.map(
      (span): StoredSpan => ({
        ...span,
        resource: indexOf(span.resource),
        scope: span.scope && indexOf(span.scope),
        input: span.input?.toString() ?? null,
        output: span.output?.toString() ?? null,
        extra: span.extra.toString(),
      }),
    );
    const value = JSON.stringify({ contexts, spans: stored });
    const id = createHash("sha256").update(value).digest("hex").slice(0, 32);
    const root = some.find((span) => (isRoot(span) || span.isLocalRoot) && span.endedAt !== null);
    const rootName = root?.name.slice(0, maxNameLength).toWellFormed() ?? null;
    yield {
      otelTraceId,
      id,
      hasRoot: root !== undefined,
      rootName,
      spans: some.length,
      bytes: storedBytes([value]),
      value,
    };
  }
}

function spansOf(value: string): MappedSpan[] {
  const { contexts, spans } = JSON.parse(value) as { contexts: Context[]; spans: StoredSpan[] };
  return spans.map((span) => ({
    ...span,
    resource: contexts[span.resource] as Context,
    scope: span.scope === null ? null : (contexts[span.scope] as Context),
    input: span.input === null ? null : Buffer.from(span.input),
    output: span.output === null ? null : Buffer.from(span.output),
    extra: Buffer.from(span.extra),
    isCounted: true,
  }));
}

/** A probe of `pending_span_pkey`, then of `trace_otel_trace_id_key`, for a trace; subqueries make these, never a join. */
const findPendingSql = `
  SELECT encode(q.id, 'hex') AS id FROM unnest($2::bytea[]) AS q (id)
  WHERE (SELECT 1 FROM pending_span p WHERE p.account_id = $1 AND p.otel_trace_id = q.id LIMIT 1) = 1 AND (
    SELECT 1 FROM trace t WHERE t.account_id = $1 AND t.otel_trace_id = q.id AND t.otel_trace_id IS NOT NULL LIMIT 1
  ) = 1`;

/** Those of an account's traces that exist and have pending spans. */
export async function findPending(
  pool: pg.Pool,
  accountId: string,
  otelTraceIds: readonly string[],
): Promise<string[]> {
  const values = [accountId, otelTraceIds.map((id) => `\\x${id}`)];
  const { rows } = await pool.query<{ id: string }>({ name: "find-pending-spans", text: findPendingSql, values });
  return rows.map(({ id }) => id);
}

/** The next part of a trace after $3, by `pending_span_pkey`. */
const readPartSql = `
  SELECT id, value FROM pending_span WHERE account_id = $1 AND otel_trace_id = $2 AND id > $3 ORDER BY id LIMIT 1`;

export async function readPart(pool: pg.Pool, accountId: string, otelTraceId: string, after: string) {
  const values = [accountId, `\\x${otelTraceId}`, after];
  const { rows } = await pool.query<{ id: string; value: string }>({
    name: "read-pending-part",
    text: readPartSql,
    values,
  });
  return rows[0] && { id: rows[0].id, spans: spansOf(rows[0].value) };
}

/** A probe of `pending_span_pkey`. */
const deletePartSql = "DELETE FROM pending_span WHERE account_id = $1 AND otel_trace_id = $2 AND id = $3";

export async function deletePart(pool: pg.Pool, accountId: string, otelTraceId: string, id: string): Promise<void> {
  const values = [accountId, `\\x${otelTraceId}`, id];
  await pool.query({ name: "delete-pending-part", text: deletePartSql, values });
}
