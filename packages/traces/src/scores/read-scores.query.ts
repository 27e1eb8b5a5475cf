import type pg from "pg";
import { z } from "zod";
import { isoText, timestamp } from "../field-table.js";
import { checkRange, countedRange, recentRange } from "../paging.js";

type ScoreKind = "number" | "boolean" | "text";

export const maxScoreName = 100;

export const scoreValueSchema = z.union([z.number(), z.boolean(), z.string()]);
type ScoreValue = z.output<typeof scoreValueSchema>;

export const traceScoreSchema = z.object({
  id: z.string(),
  span_id: z.string().nullable().describe("Null for a score of the whole trace"),
  name: z.string(),
  value: scoreValueSchema,
  comment: z.string().nullable(),
  source: z.enum(["api", "person"]).describe("`person`: given by hand in the dashboard"),
  created_at: timestamp,
});

type TraceScore = z.output<typeof traceScoreSchema>;

/** The scores of a name and kind: numbers have a mean, texts their values, booleans both. */
export const scoreSummarySchema = z.object({
  name: z.string(),
  count: z.number(),
  mean: z.number().optional().describe("Of numbers, and the share of true"),
  values: z
    .array(z.object({ value: scoreValueSchema, count: z.number() }))
    .optional()
    .describe("The most frequent texts, or true and false"),
});

type ScoreSummary = z.output<typeof scoreSummarySchema>;

interface StoredValue {
  kind: ScoreKind;
  /** 0 and 1 for a boolean. */
  number: number | null;
  text: string | null;
}

function toValue({ kind, number, text }: StoredValue): ScoreValue {
  if (kind === "boolean") return number === 1;
  return kind === "number" ? (number ?? 0) : (text ?? "");
}

/** The same as JSON. */
export const valueSql =
  "CASE kind WHEN 'boolean' THEN to_json(number = 1) WHEN 'number' THEN to_json(number) ELSE to_json(text) END";

/** A trace's scores in the order of receipt: a range of `score_pkey`. */
const readTraceScoresSql = `
  SELECT id, span_id, name, kind, number, text, comment, ${isoText("created_at")} AS created_at, person_id
  FROM score WHERE account_id = $1 AND trace_id = $2 ORDER BY id`;

export async function readTraceScores(pool: pg.Pool, accountId: string, traceId: string): Promise<TraceScore[]> {
  return (await readGivenScores(pool, accountId, traceId)).map(({ person_id: _, ...score }) => score);
}

type ScoreRow = Omit<TraceScore, "value" | "source"> & StoredValue & { person_id: string | null };

/** The same with who gave them by hand. */
export async function readGivenScores(
  pool: pg.Pool,
  accountId: string,
  traceId: string,
): Promise<(TraceScore & { person_id: string | null })[]> {
  const statement = { name: "read-trace-scores", text: readTraceScoresSql, values: [accountId, traceId] };
  const { rows } = await pool.query<ScoreRow>(statement);
  return rows.map(({ kind, number, text, ...score }) => {
    const { id, span_id, name, comment, created_at, person_id } = score;
    const source = person_id === null ? "api" : "person";
    return { id, span_id, name, value: toValue({ kind, number, text }), comment, source, created_at, person_id };
  });
}

export const agentScoresQuerySchema = z.object(countedRange("scores of traces")).superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function agentScoresToRead(
  of: { accountId: string; agentId: string },
  query: z.output<typeof agentScoresQuerySchema>,
  now: Date,
) {
  return { ...of, ...recentRange(query, now) };
}

const maxSummaries = 200;
const maxValues = 20;

/**
 * The scores of an agent's traces by name; the mean is taken in `numeric`, since the squares within the average of `float8`
 * overflow beyond 1e154. A range of `trace_listing_idx` without the table, and ranges of `score_pkey`.
 */
const readAgentScoresSql = `
  WITH scored AS MATERIALIZED (
    SELECT s.name, s.kind, s.number, s.text FROM trace t JOIN score s ON s.account_id = $1 AND s.trace_id = t.id
    WHERE t.account_id = $1 AND t.started_at >= $3 AND t.started_at < $4 AND t.agent_id = $2
  ), named AS (
    SELECT name, kind, count(*)::int AS count, avg(number::numeric)::float8 AS mean FROM scored
    GROUP BY name, kind ORDER BY name, kind LIMIT ${maxSummaries}
  )
  SELECT named.name, named.kind, named.count, named.mean, top.values FROM named
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('number', number, 'text', text, 'count', count) ORDER BY count DESC, number DESC, text)::text AS values
    FROM (
      SELECT number, text, count(*)::int AS count FROM scored
      WHERE scored.name = named.name AND scored.kind = named.kind GROUP BY number, text
      ORDER BY count DESC, number DESC, text LIMIT ${maxValues}
    ) AS counted
  ) AS top ON named.kind <> 'number'
  ORDER BY named.name, named.kind`;

const findAgentSql = "SELECT FROM agent WHERE account_id = $1 AND id = $2 AND NOT is_provisional";

interface SummaryRow {
  name: string;
  kind: ScoreKind;
  count: number;
  mean: number | null;
  /** A JSON list of {@link CountedValue}. */
  values: string | null;
}

interface CountedValue extends Omit<StoredValue, "kind"> {
  count: number;
}

/** Sums up the scores of an agent's traces and their spans; undefined where the account has no such agent. */
export async function readAgentScores(
  pool: pg.Pool,
  { accountId, agentId, from, to }: ReturnType<typeof agentScoresToRead>,
): Promise<ScoreSummary[] | undefined> {
  const values = [accountId, agentId, from, to];
  const { rows } = await pool.query<SummaryRow>({ name: "read-agent-scores", text: readAgentScoresSql, values });
  if (rows.length === 0) {
    const find = { name: "find-scored-agent", text: findAgentSql, values: [accountId, agentId] };
    const { rowCount } = await pool.query(find);
    if (rowCount === 0) return undefined;
  }
  return rows.map(({ name, kind, count, mean, values: counted }) => ({
    name,
    count,
    ...(mean === null ? {} : { mean }),
    ...(counted === null ? {} : { values: toValues(kind, JSON.parse(counted)) }),
  }));
}

function toValues(kind: ScoreKind, counted: readonly CountedValue[]): NonNullable<ScoreSummary["values"]> {
  return counted.map(({ count, ...stored }) => ({ value: toValue({ kind, ...stored }), count }));
}
