import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { failingSpanSql } from "../failing-span.js";
import { type ListedTrace, listedColumns, presentListedTrace } from "../list-traces.query.js";
import { type ContentName, fieldOf } from "../span-fields.js";
import type { SpanKind } from "../statuses.js";
import { type Labels, labelNames } from "../trace-fields.js";
import { attributesText } from "../trace-json.js";
import { excerptColumns, type Step, type StepRow, type StepTexts, stepColumns, stepOf } from "./steps.js";

export interface TraceOfAccount {
  accountId: string;
  traceId: string;
}

interface StepCount {
  name: string;
  kind: SpanKind;
  status: Step["status"];
  count: number;
}

export interface TraceSummary {
  trace: ListedTrace & Labels;
  spans: number;
  errors: number;
  /** The most frequent first. */
  steps: StepCount[];
  models: string[];
  /** Its JSON, cut. */
  metadata: string | null;
}

const maxCountedNames = 200;
const maxModels = 20;
export const maxMetadataText = 2_000;

/** A probe of `trace_pkey`, whose account hides others' traces, and one range of `span_pkey` and of `model_call_pkey`. */
const summarySql = `
  SELECT ${listedColumns}, ${labelNames.map((name) => `t.${name}`).join(", ")}, counted.*,
    ARRAY(SELECT DISTINCT left(model, 200) FROM model_call WHERE account_id = $1 AND trace_id = $2 AND model <> '' LIMIT ${maxModels}) AS models,
    left(t.metadata::text, ${maxMetadataText}) AS metadata
  FROM trace t, LATERAL (
    SELECT COALESCE(sum(n), 0)::int AS spans, COALESCE(sum(n) FILTER (WHERE status = 'error'), 0)::int AS errors,
      COALESCE(json_agg(json_build_object('name', name, 'kind', kind, 'status', status, 'count', n) ORDER BY n DESC, name)
        FILTER (WHERE place <= ${maxCountedNames}), '[]')::text AS steps
    FROM (
      SELECT left(name, 200) AS name, COALESCE(kind, 'other') AS kind, status, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC) AS place
      FROM span WHERE account_id = $1 AND trace_id = $2 GROUP BY 1, 2, 3
    ) grouped
  ) counted WHERE t.account_id = $1 AND t.id = $2`;

/** What a trace consists of; undefined if the account has no such trace. */
export async function summarizeTrace(
  pool: pg.Pool,
  { accountId, traceId }: TraceOfAccount,
): Promise<TraceSummary | undefined> {
  const statement = { name: "summarize-trace", text: summarySql, values: [accountId, traceId] };
  const [row] = (await pool.query<SummaryRow>(statement)).rows;
  if (!row) return undefined;
  const labels = Object.fromEntries(labelNames.map((name) => [name, row[name]])) as unknown as Labels;
  const { spans, errors, steps, models, metadata } = row;
  return {
    trace: { ...presentListedTrace(row), ...labels },
    spans,
    errors,
    steps: JSON.parse(steps),
    models,
    metadata,
  };
}

type SummaryRow = ListedTrace & Labels & Omit<TraceSummary, "trace" | "steps"> & { steps: string };

/** A longer path is cut at its start. */
const maxPath = 1_000;
/** Steps at the end of a path, and one at its start, whose texts are read. */
const maxTold = 5;

const uuidPattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/**
 * The failing span that a failure mail names, or without one the latest span that has not ended, else the latest; then its parents
 * up to the root. Ranges of `span_pkey`, and a probe of it for each parent: a join would read the range for each.
 */
const pathSql = `
  WITH RECURSIVE wanted AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id), ${failingSpanSql("wanted")},
  cause AS (
    SELECT COALESCE((SELECT id FROM innermost), (
      SELECT id FROM span WHERE account_id = $1 AND trace_id = $2
      ORDER BY ended_at IS NULL DESC, started_at DESC, id DESC LIMIT 1
    )) AS id
  ), path AS (
    SELECT s.id, s.parent_span_id, 0 AS up FROM span s, cause WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = cause.id
    UNION ALL
    SELECT s.id, s.parent_span_id, path.up + 1 FROM path JOIN LATERAL (
      SELECT id, parent_span_id FROM span WHERE account_id = $1 AND trace_id = $2
        AND id = CASE WHEN path.parent_span_id ~* '${uuidPattern}' THEN path.parent_span_id::uuid END
      OFFSET 0
    ) s ON true WHERE path.up < ${maxPath}
  ), told AS (SELECT id, up, up < ${maxTold} OR up = (SELECT max(up) FROM path) AS has_texts FROM path)
  SELECT told.up, step.*, texts.* FROM told
  JOIN LATERAL (SELECT ${stepColumns} FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = told.id OFFSET 0) step ON true
  LEFT JOIN LATERAL (
    SELECT ${excerptColumns("$3")} FROM span s WHERE told.has_texts AND s.account_id = $1 AND s.trace_id = $2 AND s.id = told.id OFFSET 0
  ) texts ON true
  ORDER BY told.up`;

/** The steps from the root to the cause. @param characters of each text at most, at its start and its end; null for none */
export async function readFailingPath(
  pool: pg.Pool,
  { accountId, traceId, characters }: TraceOfAccount & { characters: number },
): Promise<StepTexts[]> {
  const statement = { name: "read-failing-path", text: pathSql, values: [accountId, traceId, characters] };
  const { rows } = await pool.query<StepRow>(statement);
  const seen = new Set<string>();
  const path: StepTexts[] = [];
  for (const row of rows) {
    // Parents in a circle.
    if (seen.has(row.id)) break;
    seen.add(row.id);
    path.unshift(stepOf(row));
  }
  return path;
}

/** The first step of each name. A range of `span_pkey`. */
const counterpartsSql = `
  WITH firsts AS MATERIALIZED (
    SELECT DISTINCT ON (name, kind) id FROM span
    WHERE account_id = $1 AND trace_id = $2 AND name = ANY ($3) ORDER BY name, kind, started_at, id
  )
  SELECT ${stepColumns}, ${excerptColumns("$4")} FROM firsts JOIN span s ON s.account_id = $1 AND s.trace_id = $2 AND s.id = firsts.id
  LIMIT 20`;

export async function readSteps(
  pool: pg.Pool,
  { accountId, traceId, names, characters }: TraceOfAccount & { names: readonly string[]; characters: number },
): Promise<StepTexts[]> {
  const values = [accountId, traceId, names, characters];
  return (await pool.query<StepRow>({ name: "read-counterparts", text: counterpartsSql, values })).rows.map(stepOf);
}

/** A range of `span_pkey`. */
const listStepsSql = `SELECT ${stepColumns} FROM span s
  WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND ($4::text[] IS NULL OR COALESCE(s.kind, 'other') = ANY ($4))
  ORDER BY s.id LIMIT $5`;

/** Steps in order of receipt, those of OpenTelemetry in the order of their ids. */
export async function listSteps(
  pool: pg.Pool,
  {
    accountId,
    traceId,
    after = smallestUuid,
    kinds,
    limit,
  }: TraceOfAccount & { after?: string | undefined; kinds?: readonly SpanKind[] | undefined; limit: number },
): Promise<Step[]> {
  const values = [accountId, traceId, after, kinds, limit];
  const { rows } = await pool.query<StepRow>({ name: "list-steps", text: listStepsSql, values });
  return rows.map((row) => stepOf(row).step);
}

/** A probe of `span_pkey`, whose account hides others' spans. */
const readStepSql = `SELECT ${stepColumns}, ${excerptColumns("$4")}, ${attributesExcerpt()} FROM span s
  WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3`;

function attributesExcerpt(): string {
  return `left(${attributesText}, $4) AS attributes_head, length(${attributesText}) AS attributes_length`;
}

interface StepToRead extends TraceOfAccount {
  spanId: string;
  characters: number;
}

export async function readStep(pool: pg.Pool, { accountId, traceId, spanId, characters }: StepToRead) {
  const values = [accountId, traceId, spanId, characters];
  const { rows } = await pool.query<StepRow & { attributes_head: string | null; attributes_length: number | null }>({
    name: "read-step",
    text: readStepSql,
    values,
  });
  const [row] = rows;
  if (!row) return undefined;
  const { attributes_head: head, attributes_length: length } = row;
  const attributes = head === null || length === null ? undefined : { head, tail: "", characters: length };
  return { ...stepOf(row), attributes };
}

const partSql = (name: ContentName) => {
  const text = name === "attributes" ? attributesText : fieldOf(name).type === "json" ? `s.${name}::text` : `s.${name}`;
  return `SELECT substring(${text} FROM $4::int + 1 FOR $5::int) AS text, length(${text}) AS characters
    FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3`;
};

/** A part of one content of a span; undefined if the account has no such span or nothing was sent. A probe of `span_pkey`. */
export async function readPart(
  pool: pg.Pool,
  { accountId, traceId, spanId, characters, name, from }: StepToRead & { name: ContentName; from: number },
): Promise<{ text: string; characters: number } | undefined> {
  const values = [accountId, traceId, spanId, from, characters];
  const statement = { name: `read-part-${name}`, text: partSql(name), values };
  const { rows } = await pool.query<{ text: string | null; characters: number | null }>(statement);
  const [row] = rows;
  return row && typeof row.text === "string" ? { text: row.text, characters: row.characters ?? 0 } : undefined;
}
