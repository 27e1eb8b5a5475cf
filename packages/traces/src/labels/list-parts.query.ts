import { idBounds } from "@waymark/database";
import type pg from "pg";
import { z } from "zod";
import { weightSql } from "../get-trace.query.js";
import type { ListedTrace } from "../list-traces.query.js";
import { costSql, noTokens, sumSql, tokenSumsSchema } from "../model-calls/read-token-sums.query.js";
import { countedCallsSql, settleCalls } from "../model-calls/settle-calls.query.js";
import { includeParameter } from "../paging.js";
import { type Labels, labelNames, labelsSchema } from "../trace-fields.js";
import { textWithin } from "./text-within.js";

const maxPreview = 200;

/** One probe of `trace_pkey` each. */
const labelsSql = `SELECT id, ${labelNames.join(", ")} FROM trace WHERE account_id = $1 AND id = ANY ($2)`;

/** A range of `model_call_pkey` each. */
const usageSql = `
  SELECT trace_id AS id, ${sumSql("input_tokens")}, ${sumSql("output_tokens")}, ${costSql("count(cost)")}
  FROM ${countedCallsSql} WHERE account_id = $1 AND trace_id = ANY ($2) GROUP BY trace_id`;

/** Spans of a trace that are looked at, beside its root. */
const maxSpans = 20;
/** A larger value is left out: Postgres would read it whole. */
const maxWeight = 131_072;
const maxRead = 4_000;

/**
 * The beginning of each trace's first input, or last output, and its end where longer: of the root span, else of the first, or
 * last, spans. Per trace a probe of `trace_pkey`, and two bounded ranges of `span_pkey`.
 */
function contentSql(column: "input" | "output"): string {
  const [order, time] = column === "input" ? ["ASC", "started_at"] : ["DESC", "COALESCE(ended_at, started_at)"];
  const spans = `SELECT id, parent_span_id IS NOT NULL AS is_below, ${time} AS at, ${column} AS json FROM span
        WHERE account_id = $1 AND trace_id = t.id AND trace_id BETWEEN $3 AND $4`;
  return `
  SELECT t.id, left(s.text, ${maxRead}) AS json, CASE WHEN length(s.text) > ${maxRead} THEN right(s.text, ${maxRead}) END AS end
  FROM trace t CROSS JOIN LATERAL (
    SELECT json FROM (
      (${spans} AND id = t.root_span_id) UNION ALL (${spans} ORDER BY id ${order} LIMIT ${maxSpans})
    ) found WHERE json IS NOT NULL AND ${weightSql("json")} <= ${maxWeight} ORDER BY is_below, at ${order}, id ${order} LIMIT 1
  ) chosen CROSS JOIN LATERAL (SELECT chosen.json::text AS text OFFSET 0) s WHERE t.account_id = $1 AND t.id = ANY ($2)`;
}

const contentsSql = { input: contentSql("input"), output: contentSql("output") };

interface TextsToRead {
  accountId: string;
  ids: readonly string[];
  column: "input" | "output";
  maxLength: number;
}

/** The text of each trace's first input, or last output, by trace; traces without one have none. */
export async function readContentTexts(pool: pg.Pool, { accountId, ids, column, maxLength }: TextsToRead) {
  const statement = { name: `read-${column}-texts`, text: contentsSql[column] };
  const { rows } = await pool.query<{ id: string; json: string; end: string | null }>({
    ...statement,
    values: [accountId, ids, ...idBounds(ids)],
  });
  const role = column === "input" ? "user" : "assistant";
  return new Map(rows.map(({ id, json, end }) => [id, textWithin([json, end], role, maxLength)]));
}

async function readLabelsOf(pool: pg.Pool, accountId: string, ids: readonly string[]) {
  const statement = { name: "read-listed-labels", text: labelsSql, values: [accountId, ids] };
  const { rows } = await pool.query<Labels & { id: string }>(statement);
  return new Map(rows.map(({ id, ...labels }) => [id, labels]));
}

/** Tokens and cost by trace, of those with model calls. Settles calls first. */
export async function readUsageOf(pool: pg.Pool, accountId: string, ids: readonly string[]) {
  await settleCalls(pool, accountId);
  const statement = { name: "read-listed-usage", text: usageSql, values: [accountId, ids] };
  const { rows } = await pool.query<z.output<typeof tokenSumsSchema> & { id: string }>(statement);
  return new Map(rows.map(({ id, ...sums }) => [id, sums]));
}

async function readPreviews(pool: pg.Pool, accountId: string, ids: readonly string[]) {
  const texts = await readContentTexts(pool, { accountId, ids, column: "input", maxLength: maxPreview });
  return new Map([...texts].map(([id, preview]) => [id, { preview }]));
}

interface ListPart {
  adds: string;
  /** The members of a trace that the reading leaves out. */
  none: object;
  read(pool: pg.Pool, accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, object>>;
}

const noLabels: Labels = { session_id: null, user_id: null, environment: null, release: null, tags: [] };

/** The parts of a list's entries that `?include=` adds. */
const listParts = {
  labels: { adds: "conversation, user, environment, release and tags", none: noLabels, read: readLabelsOf },
  usage: { adds: "tokens and cost", none: noTokens, read: readUsageOf },
  preview: { adds: "the beginning of the first input", none: { preview: null }, read: readPreviews },
} as const satisfies Record<string, ListPart>;

export type ListPartName = keyof typeof listParts;

export const listIncludeParameter = includeParameter<ListPartName>(listParts);

/** The members that {@link addListParts} may add. */
export const listPartsSchema = z
  .object({
    ...labelsSchema.shape,
    ...tokenSumsSchema.shape,
    preview: z.string().nullable().describe("The beginning of the first input's text"),
  })
  .partial();

type ListParts = z.output<typeof listPartsSchema>;

interface PartsToAdd {
  accountId: string;
  traces: readonly ListedTrace[];
  parts: readonly ListPartName[];
}

/** Adds parts to a list's entries. */
export async function addListParts(pool: pg.Pool, { accountId, traces, parts }: PartsToAdd) {
  const ids = traces.map(({ id }) => id);
  let entries: (ListedTrace & ListParts)[] = [...traces];
  for (const name of ids.length > 0 ? parts : []) {
    const part: ListPart = listParts[name];
    const found = await part.read(pool, accountId, ids);
    entries = entries.map((entry) => ({ ...entry, ...(found.get(entry.id) ?? part.none) }));
  }
  return entries;
}
