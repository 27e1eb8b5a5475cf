import type pg from "pg";
import { z } from "zod";
import { isoText, timestamp } from "../field-table.js";
import { checkRange, countedRange, recentRange } from "../paging.js";
import type { LabelCondition } from "../trace-fields.js";

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
  given_by_hand: z.number().describe("Of them those of people in the dashboard"),
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
  return { ...of, ...recentRange(query, now), labels: undefined };
}

const maxSummaries = 200;
const maxValues = 20;

/**
 * The scores of an agent's traces by name; the mean is taken in `numeric`, since the squares within the average of `float8`
 * overflow beyond 1e154. A range of `trace_listing_idx` without the table, and ranges of `score_pkey`.
 */
const readAgentScoresSql = (labels?: LabelCondition) => `
  WITH scored AS MATERIALIZED (
    SELECT s.name, s.kind, s.number, s.text, s.person_id FROM trace t JOIN score s ON s.account_id = $1 AND s.trace_id = t.id
    WHERE t.account_id = $1 AND t.started_at >= $3 AND t.started_at < $4 AND t.agent_id = $2
      ${labels ? `AND ${labels.sql(5)}` : ""}
  ), named AS (
    SELECT name, kind, count(*)::int AS count, count(person_id)::int AS given_by_hand, avg(number::numeric)::float8 AS mean FROM scored
    GROUP BY name, kind ORDER BY name, kind LIMIT ${maxSummaries}
  )
  SELECT named.name, named.kind, named.count, named.given_by_hand, named.mean, top.values FROM named
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
  given_by_hand: number;
  mean: number | null;
  /** A JSON list of {@link CountedValue}. */
  values: string | null;
}

interface CountedValue extends Omit<StoredValue, "kind"> {
  count: number;
}

type AgentScores = Omit<ReturnType<typeof agentScoresToRead>, "labels"> & { labels: LabelCondition | undefined };

/** Sums up the scores of an agent's traces and their spans; undefined where the account has no such agent. */
export async function readAgentScores(
  pool: pg.Pool,
  { accountId, agentId, from, to, labels }: AgentScores,
): Promise<ScoreSummary[] | undefined> {
  const values = [accountId, agentId, from, to, ...(labels?.values ?? [])];
  const name = `read-agent-scores${labels ? "-by-labels" : ""}`;
  const { rows } = await pool.query<SummaryRow>({ name, text: readAgentScoresSql(labels), values });
  if (rows.length === 0) {
    const find = { name: "find-scored-agent", text: findAgentSql, values: [accountId, agentId] };
    const { rowCount } = await pool.query(find);
    if (rowCount === 0) return undefined;
  }
  return rows.map(({ name, kind, count, given_by_hand, mean, values: counted }) => ({
    name,
    count,
    given_by_hand,
    ...(mean === null ? {} : { mean }),
    ...(counted === null ? {} : { values: toValues(kind, JSON.parse(counted)) }),
  }));
}

const maxNotes = 10;
/** Traces of which notes are looked for: some 100 ms. */
const maxNotedTraces = 20_000;

/**
 * The notes of an agent's latest traces with one. Entries of `trace_listing_idx`, a range of `score_pkey` for each, until ten are
 * found; probes of `trace_pkey` for their names.
 */
const readNotesSql = (labels?: LabelCondition) => `
  SELECT noted.*, t.name AS trace_name FROM (
    SELECT s.trace_id, s.id, s.name, s.kind, s.number, s.text, s.comment, s.person_id, ${isoText("s.created_at")} AS created_at,
      latest.started_at
    FROM (
      SELECT id, started_at FROM trace
      WHERE account_id = $1 AND agent_id = $2 AND started_at >= $3 AND started_at < $4 ${labels ? `AND ${labels.sql(5)}` : ""}
      ORDER BY started_at DESC, id DESC LIMIT ${maxNotedTraces}
    ) AS latest
    JOIN score s ON s.account_id = $1 AND s.trace_id = latest.id AND s.comment IS NOT NULL
    ORDER BY latest.started_at DESC, latest.id DESC, s.id DESC LIMIT ${maxNotes}
  ) AS noted
  JOIN trace t ON t.account_id = $1 AND t.id = noted.trace_id
  ORDER BY noted.started_at DESC, noted.trace_id DESC, noted.id DESC`;

type NoteRow = ScoreRow & { trace_id: string; trace_name: string };

/** The scores with a comment of an agent's latest traces. */
export async function readAgentNotes(pool: pg.Pool, { accountId, agentId, from, to, labels }: AgentScores) {
  const values = [accountId, agentId, from, to, ...(labels?.values ?? [])];
  const name = `read-agent-notes${labels ? "-by-labels" : ""}`;
  const { rows } = await pool.query<NoteRow>({ name, text: readNotesSql(labels), values });
  return rows.map(({ id, trace_id, trace_name, name: score, kind, number, text, comment, created_at, person_id }) => {
    const source = person_id === null ? "api" : "person";
    return {
      id,
      trace_id,
      trace_name,
      name: score,
      value: toValue({ kind, number, text }),
      comment,
      source,
      created_at,
    };
  });
}

function toValues(kind: ScoreKind, counted: readonly CountedValue[]): NonNullable<ScoreSummary["values"]> {
  return counted.map(({ count, ...stored }) => ({ value: toValue({ kind, ...stored }), count }));
}
