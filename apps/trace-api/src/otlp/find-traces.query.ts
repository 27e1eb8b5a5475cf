import type { Batched } from "@waymark/database";
import { arrayLiteral, type Batching, type Labels, maxTags, textLabels } from "@waymark/traces";
import { type SomeLabels, sortedTags } from "@waymark/traces/otlp";
import type pg from "pg";

/** The columns that a look-up reads for {@link storedLabels}. */
const storedLabelsSql = [...textLabels, "tags", "label_origins"].map((name) => `t.${name}`).join(", ");

export interface OtlpTracesToFind {
  accountId: string;
  /** In hexadecimal. */
  otelTraceIds: readonly string[];
}

/** Ids of one look-up. */
export const maxTracesToFind = 1_000;

/** The stored fields that decide whether a span changes the trace. */
export interface StoredTrace {
  id: string;
  agentId: string;
  /** As `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  startedAt: string;
  /** The origin of its name, as `originOf` has it. */
  nameOrigin: string;
  /** As `toldAgentOf` has it. */
  toldAgent: string | null;
  rootSpanId: string | null;
  /** Whether that span has a parent, in another process or nowhere. */
  isRootLocal: boolean;
  hasFailedRoot: boolean;
  hasFailedLocalRoot: boolean;
  labels: SpanLabels;
}

/** Undefined for an unknown trace, or one that was deleted long ago. */
export type FoundTrace = StoredTrace | "deleted" | undefined;

/** Of a trace `t`. Those of earlier releases keep the name of a root, and give way to any other. */
export const nameOriginSql =
  "COALESCE(t.name_origin, CASE WHEN t.root_span_id IS NULL THEN '\\xff' ELSE '\\x00' END::bytea)";

/**
 * Finds traces by their OpenTelemetry ids, and whether absent ones were deleted. One probe of `trace_otel_trace_id_key` for
 * each id, and of `deleted_otel_trace_pkey` for each absent one. A subquery makes these probes: a join planned on an empty
 * table would read the whole index. Sessions use UTC.
 */
const findTracesSql = `
  SELECT q.number::int, t.id, t.agent_id, encode(${nameOriginSql}, 'hex') AS name_origin, encode(t.told_agent, 'hex') AS told_agent, to_char(t.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, t.root_span_id,
    t.is_root_local, t.has_failed_root, t.has_failed_local_root, ${storedLabelsSql}, CASE WHEN t.id IS NULL THEN EXISTS (
      SELECT FROM deleted_otel_trace d WHERE d.account_id = q.account_id AND d.otel_trace_id = q.otel_trace_id
    ) END AS is_deleted
  FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS q (account_id, otel_trace_id, number)
  LEFT JOIN LATERAL (
    SELECT * FROM trace t
    WHERE t.account_id = q.account_id AND t.otel_trace_id = q.otel_trace_id AND t.otel_trace_id IS NOT NULL LIMIT 1
  ) t ON true`;

type FoundRow = Parameters<typeof storedLabels>[0] & {
  number: number;
  /** Null for an unknown trace. */
  id: string | null;
  agent_id: string;
  name_origin: string;
  told_agent: string | null;
  started_at: string;
  root_span_id: string | null;
  is_root_local: boolean | null;
  has_failed_root: boolean | null;
  has_failed_local_root: boolean | null;
  is_deleted: boolean | null;
};

/** Finds traces; the results have the order of the ids. */
export function createTraceFinder({ pool, createGroupCommit }: Batching) {
  return createGroupCommit<OtlpTracesToFind, FoundTrace[]>({
    name: "find-otlp-trace",
    run: (requests) => findTraces(pool, requests),
    maxInFlight: 2,
    maxRows: maxTracesToFind,
    countOf: ({ otelTraceIds }) => otelTraceIds.length,
  });
}

/** The stored ones of any number of traces, each once, in portions of a look-up. */
export async function* findStored(
  find: Batched<OtlpTracesToFind, FoundTrace[]>,
  accountId: string,
  otelTraceIds: Iterable<string>,
): AsyncGenerator<{ accountId: string; otelTraceId: string; traceId: string }[]> {
  const different = [...new Set(otelTraceIds)];
  for (let i = 0; i < different.length; i += maxTracesToFind) {
    const some = different.slice(i, i + maxTracesToFind);
    const found = await find({ accountId, otelTraceIds: some });
    yield some.flatMap((otelTraceId, n) => {
      const trace = found[n];
      return trace && trace !== "deleted" ? [{ accountId, otelTraceId, traceId: trace.id }] : [];
    });
  }
}

async function findTraces(pool: pg.Pool, requests: readonly OtlpTracesToFind[]): Promise<FoundTrace[][]> {
  const { rows } = await pool.query<FoundRow>({
    name: "find-otlp-traces",
    text: findTracesSql,
    values: [
      requests.flatMap(({ accountId, otelTraceIds }) => otelTraceIds.map(() => accountId)),
      requests.flatMap(({ otelTraceIds }) => otelTraceIds.map((id) => `\\x${id}`)),
    ],
  });
  const found: FoundTrace[] = [];
  for (const row of rows) {
    if (row.id !== null) found[row.number - 1] = storedTrace({ ...row, id: row.id });
    else if (row.is_deleted) found[row.number - 1] = "deleted";
  }
  let start = 0;
  return requests.map(({ otelTraceIds: { length } }) => {
    const own = Array.from({ length }, (_, n) => found[start + n]);
    start += length;
    return own;
  });
}

function storedTrace(row: FoundRow & { id: string }): StoredTrace {
  const { id, agent_id, started_at, root_span_id } = row;
  const labels = storedLabels(row);
  return {
    id,
    agentId: agent_id,
    nameOrigin: row.name_origin,
    toldAgent: row.told_agent,
    startedAt: started_at,
    rootSpanId: root_span_id,
    isRootLocal: row.is_root_local === true,
    hasFailedRoot: row.has_failed_root === true,
    hasFailedLocalRoot: row.has_failed_local_root === true,
    labels,
  };
}

/**
 * Labels of a trace from its spans, the same in any order of arrival: a root span's label wins over those of others, and of
 * several the first in the order of bytes; the tags of all add up. A label set by PATCH stays.
 */
export interface SpanLabels {
  values: SomeLabels;
  /** Two bits for each of `textLabels`, then two for the tags; see {@link origins}. */
  origins: number;
}

/** Higher ones win. PATCH sets `client`. */
const origins = { span: 0, root: 1, client: 2 } as const;

const shiftOf = (n: number) => 2 * n;
const originAt = (all: number, n: number) => (all >> shiftOf(n)) & 3;
const tagsAt = textLabels.length;

export function spanLabels(values: SomeLabels | null, isRoot: boolean): SpanLabels | null {
  if (values === null || !isRoot) return values && { values, origins: 0 };
  const all = textLabels.map((name, n) => (values[name] === undefined ? 0 : origins.root << shiftOf(n)));
  return { values, origins: all.reduce((sum, each) => sum | each, 0) };
}

export function mergeLabels(a: SpanLabels | null, b: SpanLabels | null): SpanLabels | null {
  if (!a || !b) return a ?? b;
  const values = { ...a.values };
  let merged = a.origins;
  for (const [n, name] of textLabels.entries()) {
    const [own, other] = [a.values[name], b.values[name]];
    const [from, otherFrom] = [originAt(a.origins, n), originAt(b.origins, n)];
    if (other === undefined || otherFrom < from) continue;
    if (otherFrom === from && own !== undefined && !isBefore(other, own)) continue;
    values[name] = other;
    merged = (merged & ~(3 << shiftOf(n))) | (otherFrom << shiftOf(n));
  }
  if (b.values.tags && originAt(a.origins, tagsAt) !== origins.client)
    values.tags = sortedTags([...(a.values.tags ?? []), ...b.values.tags]);
  return { values, origins: merged };
}

/** Whether spans change the labels of their trace. The update checks this again under its lock. */
export function changesLabels(stored: SpanLabels, more: SpanLabels | null): boolean {
  if (!more) return false;
  const merged = mergeLabels(stored, more);
  return (
    merged?.origins !== stored.origins ||
    Object.entries(merged.values).some(([name, value]) => {
      return String(value) !== String(stored.values[name as keyof SomeLabels]);
    })
  );
}

function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}

/** For {@link mergedLabelsSql}. */
export function labelsJson(labels: SpanLabels | null): string | null {
  if (!labels) return null;
  const { tags, ...texts } = labels.values;
  return JSON.stringify({ ...texts, ...(tags && { tags: arrayLiteral(tags) }), origins: labels.origins });
}

const sqlOriginAt = (all: string, n: number) => `(COALESCE(${all}, 0) >> ${shiftOf(n)} & 3)`;

/** Columns with the labels of a trace `t` after those of the JSON `labels`, which may be null: {@link mergeLabels} in SQL. */
export function mergedLabelsSql(labels: string): string {
  const given = `(${labels} ->> 'origins')::int`;
  const takes = textLabels.map((name, n) => {
    const [from, otherFrom] = [sqlOriginAt("t.label_origins", n), sqlOriginAt(given, n)];
    return `(${labels} -> '${name}' IS NOT NULL AND (${otherFrom} > ${from} OR ${otherFrom} = ${from}
        AND (t.${name} IS NULL OR (${labels} ->> '${name}') COLLATE "C" < t.${name})))`;
  });
  const values = textLabels.map(
    (name, n) => `CASE WHEN ${takes[n]} THEN ${labels} ->> '${name}' ELSE t.${name} END AS ${name}`,
  );
  const rest = `COALESCE(t.label_origins, 0)`;
  const newOrigins = textLabels.map(
    (_, n) =>
      `(CASE WHEN ${takes[n]} THEN ${sqlOriginAt(given, n)} ELSE ${sqlOriginAt("t.label_origins", n)} END << ${shiftOf(n)})`,
  );
  return `${values.join(",\n      ")},
      CASE WHEN ${labels} -> 'tags' IS NULL OR ${sqlOriginAt("t.label_origins", tagsAt)} = ${origins.client} THEN t.tags
        ELSE (SELECT array_agg(tag) FROM (
          SELECT DISTINCT tag COLLATE "C" AS tag FROM unnest(t.tags || (${labels} ->> 'tags')::text[]) AS tag ORDER BY 1 LIMIT ${maxTags}) u)
        END AS tags,
      CASE WHEN ${labels} IS NULL THEN t.label_origins
        ELSE ${newOrigins.join(" | ")} | (${rest} & ${3 << shiftOf(tagsAt)}) END::smallint AS label_origins`;
}

function storedLabels(row: Labels & { label_origins: number | null }): SpanLabels {
  const values: SomeLabels = { tags: row.tags };
  for (const name of textLabels) if (row[name] !== null) values[name] = row[name];
  return { values, origins: row.label_origins ?? 0 };
}
