import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { failingSpanSql } from "./failing-span.js";
import { isoText } from "./field-table.js";
import type { ListedTrace } from "./list-traces.query.js";
import { kindOfJson } from "./otlp/kind.js";
import { type ContentName, contentNames } from "./span-fields.js";
import type { SpanKind } from "./statuses.js";
import { type Labels, labelNames, listedNames, listedSql } from "./trace-fields.js";

const outlinePageSpans = 5_000;
const maxErrorText = 200;
const maxAttributeBytes = 4_096;

export interface OutlineTrace extends Omit<ListedTrace, "duration_ms">, Labels {
  /** On the first page only, as `errors` and `first_failed`, the failing span that the failure mail names. */
  spans?: number;
  errors?: number;
  first_failed?: string | null;
}

/** The spans of a page by column, without contents; rows in order of receipt. */
export interface OutlinePage {
  trace: OutlineTrace;
  at: string;
  id: string[];
  /** As sent; null at the top. */
  parent: (string | null)[];
  names: string[];
  name: number[];
  kinds: SpanKind[];
  kind: number[];
  /** Microseconds since the trace's start; a duration is null without an end. */
  start: number[];
  duration: (number | null)[];
  /** 1: failed; then a bit for each content that the span has, in the order of `spanFields`. */
  flags: number[];
  errors: Record<number, string>;
  next: string | null;
}

/** Those of spans stored without a kind, by releases before it. */
const olderNames = ["gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId"];
const olderSql = olderNames.map((name) => `'${name}', left(s.attributes #>> '{attributes,"${name}"}', 100)`).join(", ");
const kindSql = `CASE WHEN s.kind IS NULL AND s.attributes IS NOT NULL AND pg_column_size(s.attributes) <= ${maxAttributeBytes}
  THEN json_build_object(${olderSql})::text ELSE s.kind END`;

/** A bit for each content, from the second on. */
function flagSql(name: ContentName, n: number): string {
  const isAbsent = name === "attributes" ? "s.attributes IS NULL AND s.resource_id IS NULL" : `s.${name} IS NULL`;
  return `CASE WHEN ${isAbsent} THEN 0 ELSE ${2 << n} END`;
}

const spanSql = `SELECT s.id, s.parent_span_id AS parent, s.name, ${kindSql} AS kind,
  (date_part('epoch', s.started_at - t.started_at) * 1e6)::int8 AS start,
  (date_part('epoch', s.ended_at - s.started_at) * 1e6)::int8 AS duration,
  (s.status = 'error')::int + ${contentNames.map(flagSql).join(" + ")} AS flags,
  left(s.error, ${maxErrorText}) AS error
  FROM span s WHERE s.account_id = $1 AND s.trace_id = $2`;

const columnNames = ["id", "parent", "name", "kind", "start", "duration", "flags", "error"] as const;

/**
 * A JSON list for each column: a row for each span would leave Node 80,000 values to collect. First the spans of `$4`, to be
 * read again, then those after `$3`: probes and one range of `span_pkey`.
 */
const pageSql = `
  SELECT ${columnNames.map((name) => `COALESCE(json_agg(${name}), '[]') AS ${name}`).join(", ")},
    (array_agg(id) FILTER (WHERE id > $3))[${outlinePageSpans}] AS last
  FROM (
    ${spanSql} AND s.id = ANY ($4::uuid[]) AND s.id <= $3
    UNION ALL (${spanSql} AND s.id > $3 ORDER BY s.id LIMIT ${outlinePageSpans})
  ) spans`;

const nextSql = `CASE WHEN (
  SELECT id FROM span WHERE account_id = $1 AND trace_id = $2 AND id > page.last ORDER BY id LIMIT 1
) IS NOT NULL THEN page.last END`;

const traceMembers = `'id', t.id, ${labelNames.map((name) => `'${name}', t.${name}`).join(", ")}, ${listedNames.map((name) => `'${name}', ${listedSql(name)}`).join(", ")}`;

/** A row for each member of the answer: the driver copies a large row several times while it arrives. */
const membersSql = (trace: string) => `(VALUES
  ('trace', ${trace}), ('at', to_json(${isoText("now()")})), ('next', COALESCE(to_json(${nextSql}), 'null')),
  ${columnNames.map((name) => `('${name}', page.${name})`).join(", ")}) member (name, json)`;

/** The trace and a page: one probe of `trace_pkey`, whose account makes another's trace not found. Sessions run in UTC. */
const readPageSql = `SELECT member.* FROM trace t, LATERAL (${pageSql}) page,
  LATERAL ${membersSql(`json_build_object(${traceMembers})`)} WHERE t.account_id = $1 AND t.id = $2`;

/** The same with counts and the first failing span: three reads of one range of `span_pkey`. */
const readFirstSql = `
  WITH wanted AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id), ${failingSpanSql("wanted")}
  SELECT member.* FROM trace t, LATERAL (
    SELECT count(*) AS spans, count(*) FILTER (WHERE status = 'error') AS errors
    FROM span WHERE account_id = $1 AND trace_id = $2
  ) counted, LATERAL (${pageSql}) page, LATERAL ${membersSql(`json_build_object(${traceMembers},
    'spans', counted.spans, 'errors', counted.errors, 'first_failed', (SELECT id FROM innermost))`)}
  WHERE t.account_id = $1 AND t.id = $2`;

interface OutlineToRead {
  accountId: string;
  traceId: string;
  /** Spans after this id; from the first, with counts, if omitted. */
  after?: string | undefined;
  ids?: readonly string[] | undefined;
}

/** The JSON text of an {@link OutlinePage}; undefined if the account has no such trace. */
export async function readOutline(
  pool: pg.Pool,
  { accountId, traceId, after, ids = [] }: OutlineToRead,
): Promise<string | undefined> {
  const statement =
    after === undefined ? { name: "outline-first", text: readFirstSql } : { name: "outline-page", text: readPageSql };
  const values = [accountId, traceId, after ?? smallestUuid, ids];
  const { rows } = await pool.query<[name: string, json: string]>({ ...statement, rowMode: "array", values });
  return rows.length === 0 ? undefined : `{${rows.map(([name, json]) => membersOf(name, json)).join(",")}}`;
}

/** Most lists pass through as Postgres writes them: parsing them would take longer than all the rest. */
function membersOf(name: string, json: string): string {
  if (name === "name" || name === "kind") {
    const given: (string | null)[] = JSON.parse(json);
    const [texts, numbers] = numbered(name === "kind" ? given.map(kindOfStored) : given);
    return `"${name}s":${JSON.stringify(texts)},"${name}":${JSON.stringify(numbers)}`;
  }
  if (name !== "error") return `"${name}":${json}`;
  const errors: OutlinePage["errors"] = {};
  for (const [row, error] of (JSON.parse(json) as (string | null)[]).entries()) if (error !== null) errors[row] = error;
  return `"errors":${JSON.stringify(errors)}`;
}

/** The attributes of a span without a kind are an object. */
function kindOfStored(stored: string | null): string {
  if (stored === null) return "other";
  return stored.startsWith("{") ? kindOfJson(stored) : stored;
}

/** The texts of a list once each, and the number of each text among them; "" for null. */
function numbered(texts: readonly (string | null)[]): [texts: string[], numbers: number[]] {
  const known = new Map<string, number>();
  const numbers = texts.map((text) => {
    const number = known.get(text ?? "") ?? known.size;
    if (number === known.size) known.set(text ?? "", number);
    return number;
  });
  return [[...known.keys()], numbers];
}

/** One probe of `trace_pkey`. */
const readLabelsSql = `SELECT ${labelNames.join(", ")} FROM trace
  WHERE account_id = $1 AND id = $2`;

/** The labels of a trace; undefined if the account has none of that id. */
export async function readLabels(pool: pg.Pool, accountId: string, traceId: string): Promise<Labels | undefined> {
  const statement = { name: "read-labels", text: readLabelsSql, values: [accountId, traceId] };
  return (await pool.query<Labels>(statement)).rows[0];
}
