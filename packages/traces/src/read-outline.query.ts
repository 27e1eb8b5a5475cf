import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { failingSpanSql } from "./failing-span.js";
import { isoText } from "./field-table.js";
import { weightSql } from "./get-trace.query.js";
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
  /** With digests: equal numbers mean equal texts; null without a text, or without room for its number. */
  input?: (number | null)[];
  output?: (number | null)[];
  models?: string[];
  model?: number[];
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

const spanSql = (hasDigests: boolean) => `SELECT s.id, s.parent_span_id AS parent, s.name, ${kindSql} AS kind,
  (date_part('epoch', s.started_at - t.started_at) * 1e6)::int8 AS start,
  (date_part('epoch', s.ended_at - s.started_at) * 1e6)::int8 AS duration,
  (s.status = 'error')::int + ${contentNames.map(flagSql).join(" + ")} AS flags,
  left(s.error, ${maxErrorText}) AS error${hasDigests ? digestedSql : ""}
  FROM span s WHERE s.account_id = $1 AND s.trace_id = $2`;

const columnNames = ["id", "parent", "name", "kind", "start", "duration", "flags", "error"] as const;

const digestedNames = ["input", "output"] as const;
/** Bytes of a page to read for digests, compressed ones eightfold: they take some 60 ms. */
const maxDigestedWeight = 16_777_216;
const maxModelText = 200;

/** Columns of a span that {@link digestColumns} reads. Its contents are weighed in the order of ids before any is uncompressed. */
const digestedSql = `, ${digestedNames.map((name) => `s.${name} AS sent_${name}`).join(", ")},
  sum(${digestedNames.map((name) => weightSql(`s.${name}`)).join(" + ")}) OVER (ORDER BY s.id) AS weight,
  (SELECT left(m.model, ${maxModelText}) FROM model_call m WHERE m.account_id = $1 AND m.trace_id = $2 AND m.span_id = s.id) AS model`;

/** 53 bits of a hash, as JSON's numbers have. */
const digestColumns = [
  ...digestedNames.map((name) => {
    const digest = `hashtextextended(sent_${name}::text, 0) & ${Number.MAX_SAFE_INTEGER}`;
    return [name, `CASE WHEN weight <= ${maxDigestedWeight} THEN ${digest} END`] as const;
  }),
  ["model", "model"],
] as const;

/**
 * A JSON list for each column: a row for each span would leave Node 80,000 values to collect. First the spans of `$4`, to be
 * read again, then those after `$3`: probes and one range of `span_pkey`.
 */
const pageSql = (hasDigests: boolean) => `
  SELECT ${columnsOf(hasDigests)
    .map(([name, sql]) => `COALESCE(json_agg(${sql}), '[]') AS ${name}`)
    .join(", ")},
    (array_agg(id) FILTER (WHERE id > $3))[${outlinePageSpans}] AS last
  FROM (
    ${spanSql(hasDigests)} AND s.id = ANY ($4::uuid[]) AND s.id <= $3
    UNION ALL (${spanSql(hasDigests)} AND s.id > $3 ORDER BY s.id LIMIT ${outlinePageSpans})
  ) spans`;

const columnsOf = (hasDigests: boolean) => [
  ...columnNames.map((name) => [name, name] as const),
  ...(hasDigests ? digestColumns : []),
];

const nextSql = `CASE WHEN (
  SELECT id FROM span WHERE account_id = $1 AND trace_id = $2 AND id > page.last ORDER BY id LIMIT 1
) IS NOT NULL THEN page.last END`;

const traceMembers = `'id', t.id, ${labelNames.map((name) => `'${name}', t.${name}`).join(", ")}, ${listedNames.map((name) => `'${name}', ${listedSql(name)}`).join(", ")}`;

/** A row for each member of the answer: the driver copies a large row several times while it arrives. */
const membersSql = (trace: string, hasDigests: boolean) => `(VALUES
  ('trace', ${trace}), ('at', to_json(${isoText("now()")})), ('next', COALESCE(to_json(${nextSql}), 'null')),
  ${columnsOf(hasDigests)
    .map(([name]) => `('${name}', page.${name})`)
    .join(", ")}) member (name, json)`;

/** The trace and a page: one probe of `trace_pkey`, whose account makes another's trace not found. Sessions run in UTC. */
const readPageSql = (hasDigests: boolean) => `SELECT member.* FROM trace t, LATERAL (${pageSql(hasDigests)}) page,
  LATERAL ${membersSql(`json_build_object(${traceMembers})`, hasDigests)} WHERE t.account_id = $1 AND t.id = $2`;

/** The same with counts and the first failing span: three reads of one range of `span_pkey`. */
const readFirstSql = (hasDigests: boolean) => `
  WITH wanted AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id), ${failingSpanSql("wanted")}
  SELECT member.* FROM trace t, LATERAL (
    SELECT count(*) AS spans, count(*) FILTER (WHERE status = 'error') AS errors
    FROM span WHERE account_id = $1 AND trace_id = $2
  ) counted, LATERAL (${pageSql(hasDigests)}) page, LATERAL ${membersSql(
    `json_build_object(${traceMembers},
    'spans', counted.spans, 'errors', counted.errors, 'first_failed', (SELECT id FROM innermost))`,
    hasDigests,
  )}
  WHERE t.account_id = $1 AND t.id = $2`;

const statementsOf = (name: string, sqlOf: (hasDigests: boolean) => string) =>
  [
    { name, text: sqlOf(false) },
    { name: `${name}-digests`, text: sqlOf(true) },
  ] as const;
const firstStatements = statementsOf("outline-first", readFirstSql);
const pageStatements = statementsOf("outline-page", readPageSql);

interface OutlineToRead {
  accountId: string;
  traceId: string;
  /** Spans after this id; from the first, with counts, if omitted. */
  after?: string | undefined;
  ids?: readonly string[] | undefined;
  hasDigests?: boolean;
  /** For anybody with a link: of the trace itself only {@link sharedMembers}. */
  isShared?: boolean;
}

/** Neither ids nor labels, which may name people. */
const sharedMembers = [
  "name",
  "status",
  "started_at",
  "ended_at",
  "spans",
  "errors",
  "first_failed",
] as const satisfies readonly (keyof OutlineTrace)[];

function hideOthers(json: string): string {
  const trace: OutlineTrace = JSON.parse(json);
  return JSON.stringify(Object.fromEntries(sharedMembers.map((name) => [name, trace[name]])));
}

/** The JSON text of an {@link OutlinePage}; undefined if the account has no such trace. */
export async function readOutline(
  pool: pg.Pool,
  { accountId, traceId, after, ids = [], hasDigests = false, isShared = false }: OutlineToRead,
): Promise<string | undefined> {
  const statement = (after === undefined ? firstStatements : pageStatements)[hasDigests ? 1 : 0];
  const values = [accountId, traceId, after ?? smallestUuid, ids];
  const { rows } = await pool.query<[name: string, json: string]>({ ...statement, rowMode: "array", values });
  if (rows.length === 0) return undefined;
  const members = rows.map(([name, json]) => membersOf(name, isShared && name === "trace" ? hideOthers(json) : json));
  return `{${members.join(",")}}`;
}

/** Most lists pass through as Postgres writes them: parsing them would take longer than all the rest. */
function membersOf(name: string, json: string): string {
  if (name === "name" || name === "kind" || name === "model") {
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
