import { idBounds } from "@waymark/database";
import type pg from "pg";
import { z } from "zod";
import { weightSql } from "../get-trace.query.js";
import type { ListedTrace } from "../list-traces.query.js";
import { costSql, noTokens, sumSql, tokenSumsSchema } from "../model-calls/read-token-sums.query.js";
import { countedCallsSql, settleCalls } from "../model-calls/settle-calls.query.js";
import { includeParameter } from "../paging.js";
import { scoreValueSchema, valueSql } from "../scores/read-scores.query.js";
import { type Labels, labelNames, labelsSchema } from "../trace-fields.js";

const maxPreview = 200;
/** Spans of a trace that are looked at, beside its root. */
const maxSpans = 20;
/** A larger value is left out: Postgres would read it whole. */
const maxWeight = 131_072;
const maxRead = 4_000;
/** Models, and scores, of an entry. */
const maxParts = 5;

/**
 * The beginning of a trace's first input, or last output, and its end where longer: of the root span, else of the first, or
 * last, spans. Two bounded ranges of `span_pkey`.
 */
function contentSql(column: "input" | "output"): string {
  const [order, time] = column === "input" ? ["ASC", "started_at"] : ["DESC", "COALESCE(ended_at, started_at)"];
  const spans = `SELECT id, parent_span_id IS NOT NULL AS is_below, ${time} AS at, ${column} AS json FROM span
        WHERE account_id = $1 AND trace_id = t.id AND trace_id BETWEEN $3 AND $4`;
  return `
  LEFT JOIN LATERAL (
    SELECT ARRAY[left(s.text, ${maxRead}), CASE WHEN length(s.text) > ${maxRead} THEN right(s.text, ${maxRead}) END] AS ${column} FROM (
      SELECT json FROM (
        (${spans} AND id = t.root_span_id) UNION ALL (${spans} ORDER BY id ${order} LIMIT ${maxSpans})
      ) found WHERE json IS NOT NULL AND ${weightSql("json")} <= ${maxWeight} ORDER BY is_below, at ${order}, id ${order} LIMIT 1
    ) chosen CROSS JOIN LATERAL (SELECT chosen.json::text AS text OFFSET 0) s
  ) first_${column} ON true`;
}

/** What a statement reads of each trace `t`: columns, and what they are of beside the trace. */
const partsSql = {
  labels: { columns: labelNames.map((name) => `t.${name}`).join(", "), from: "" },
  /** A range of `model_call_pkey`. */
  usage: {
    columns: "usage.*",
    from: `
  CROSS JOIN LATERAL (
    SELECT ${sumSql("input_tokens")}, ${sumSql("output_tokens")}, ${costSql("count(cost)")}
    FROM ${countedCallsSql} WHERE account_id = $1 AND trace_id = t.id
  ) usage`,
  },
  /** A range of `model_call_pkey`. */
  models: {
    columns: "models",
    from: `
  CROSS JOIN LATERAL (SELECT ARRAY(
    SELECT DISTINCT model FROM ${countedCallsSql} WHERE account_id = $1 AND trace_id = t.id AND model <> ''
    ORDER BY model LIMIT ${maxParts}
  ) AS models) models`,
  },
  /** A range of `score_pkey`. */
  scores: {
    columns: "scores",
    from: `
  CROSS JOIN LATERAL (SELECT COALESCE(json_agg(json_build_object('name', name, 'value', ${valueSql})), '[]')::text AS scores FROM (
    SELECT name, kind, number, text FROM score WHERE account_id = $1 AND trace_id = t.id AND span_id IS NULL
    ORDER BY id DESC LIMIT ${maxParts}
  ) latest) scores`,
  },
  input: { columns: "input", from: contentSql("input") },
  output: { columns: "output", from: contentSql("output") },
} as const satisfies Record<string, { columns: string; from: string }>;

type Content = [json: string, end: string | null];

interface PartsRow extends Partial<Labels & z.output<typeof tokenSumsSchema>> {
  id: string;
  input?: Content | null;
  output?: Content | null;
  models?: string[];
  /** JSON. */
  scores?: string;
}

interface PartsToRead {
  accountId: string;
  ids: readonly string[];
  parts: readonly (keyof typeof partsSql)[];
  maxLength: number;
}

/** Reads parts of traces by one statement, which probes `trace_pkey`; settles calls before it sums them. */
export async function readTraceParts(pool: pg.Pool, { accountId, ids, parts, maxLength }: PartsToRead) {
  if (parts.includes("usage") || parts.includes("models")) await settleCalls(pool, accountId);
  const { rows } = await pool.query<PartsRow>({
    name: `read-${parts.join("-")}`,
    text: `SELECT t.id, ${parts.map((part) => partsSql[part].columns).join(", ")} FROM trace t ${parts.map((part) => partsSql[part].from).join("")}
  WHERE t.account_id = $1 AND t.id = ANY ($2) AND t.id BETWEEN $3 AND $4`,
    values: [accountId, ids, ...idBounds(ids)],
  });
  const textOf = (content: Content | null | undefined, role: "user" | "assistant") =>
    content ? textWithin(content, role, maxLength) : null;
  return new Map(
    rows.map(({ id, input, output, scores, ...row }) => [
      id,
      {
        ...row,
        ...(scores !== undefined && { scores: scoresIn(scores) }),
        input: textOf(input, "user"),
        output: textOf(output, "assistant"),
      },
    ]),
  );
}

const listedScores = z.array(z.object({ name: z.string(), value: scoreValueSchema }));

const scoresIn = (json: string) => JSON.parse(json) as z.output<typeof listedScores>;

const noLabels: Labels = { session_id: null, user_id: null, environment: null, release: null, tags: [] };

/** The parts of a list's entries that `?include=` adds; `none` are the members of a trace that is gone by then. */
const listParts = {
  labels: { adds: "conversation, user, environment, release and tags", reads: "labels", none: noLabels },
  usage: { adds: "tokens and cost", reads: "usage", none: noTokens },
  preview: { adds: "the beginning of the first input", reads: "input", none: { preview: null } },
  models: { adds: `up to ${maxParts} models`, reads: "models", none: { models: [] } },
  scores: { adds: `the latest ${maxParts} scores of the whole trace`, reads: "scores", none: { scores: [] } },
} as const satisfies Record<string, { adds: string; reads: PartsToRead["parts"][number]; none: object }>;

export type ListPartName = keyof typeof listParts;

export const listIncludeParameter = includeParameter<ListPartName>(listParts);

export const listPartsSchema = z
  .object({
    ...labelsSchema.shape,
    ...tokenSumsSchema.shape,
    preview: z.string().nullable().describe("The beginning of the first input's text"),
    models: z.array(z.string()).describe("Models that it called, by name"),
    scores: listedScores.describe("Scores of the whole trace, latest first"),
  })
  .partial();

type ListParts = z.output<typeof listPartsSchema>;

interface PartsToAdd {
  accountId: string;
  traces: readonly ListedTrace[];
  parts: readonly ListPartName[];
}

/** Adds parts to a list's entries by one statement. */
export async function addListParts(
  pool: pg.Pool,
  { accountId, traces, parts }: PartsToAdd,
): Promise<(ListedTrace & ListParts)[]> {
  const wanted = parts.map((name) => listParts[name]);
  const [ids, reads] = [traces.map(({ id }) => id), wanted.map((part) => part.reads)];
  if (ids.length === 0 || wanted.length === 0) return [...traces];
  const found = await readTraceParts(pool, { accountId, ids, parts: reads, maxLength: maxPreview });
  const none: ListParts = Object.assign({}, ...wanted.map((part) => part.none));
  return traces.map((trace) => {
    const { input, output: _, ...row } = found.get(trace.id) ?? {};
    return { ...trace, ...none, ...row, ...(typeof input === "string" && { preview: input }) };
  });
}

/** A JSON string up to its end, or to the end of a cut text. */
const string = String.raw`"((?:[^"\\]|\\.)*)`;
const key = (names: string) => new RegExp(`"(?:${names})"\\s{0,9}:\\s{0,9}${string}`);
const spoken = key("content|text");
const asked = key("content|text|input|prompt|question|query|message|output|answer|result|response");
const whole = new RegExp(string);
/** A string that is no name of a member. */
const anyValue = new RegExp(String.raw`[:,[]\s{0,9}${string}(?:"(?!\s{0,9}:)|$)`);

/**
 * The text that a person would read in an input or output: a string itself, the last message of a role, a member with a usual
 * name, else the first string.
 * @param json the beginning of JSON text; its end, where that is apart
 */
export function textWithin(
  [json, end]: readonly [json: string, end: string | null],
  role: "user" | "assistant",
  maxLength: number,
): string {
  const text = json.startsWith('"') ? whole.exec(json) : (lastMessage(end ?? json, role) ?? firstText(json));
  const plain = text ? unescaped(text[1] ?? "") : json;
  const short = plain.length > maxLength ? `${plain.slice(0, maxLength - 1)}…` : plain;
  return short.toWellFormed().replaceAll("\u0000", "\ufffd").trim();
}

/** Senders write the role before the content, or after it. */
function lastMessage(json: string, role: string) {
  const at = json.lastIndexOf(`"${role}"`);
  return at < 0 ? null : spoken.exec(json.slice(Math.max(0, json.lastIndexOf("{", at))));
}

const firstText = (json: string) => asked.exec(json) ?? anyValue.exec(json);

function unescaped(text: string): string {
  // A cut may have left half of an escape.
  const whole = text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "");
  try {
    return JSON.parse(`"${whole}"`) as string;
  } catch {
    return whole;
  }
}
